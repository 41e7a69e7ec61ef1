-- A job of a namespace, deleted or not.
select id from sexton.jobs where namespace = :namespace and id = :job_id
