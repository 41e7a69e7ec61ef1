select job_id, scheduled_at from sexton.timers where job_id = any (:job_ids::bigint[])
