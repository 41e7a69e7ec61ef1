-- These jobs are no longer set aside.
delete from sexton.problems where job_id = any (:jobs::bigint[])
