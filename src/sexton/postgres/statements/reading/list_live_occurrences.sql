-- Of the occurrences :scheduled_at, those that have a live run.
select scheduled_at from sexton.runs where job_id = :job_id and trigger <> 'manual' and scheduled_at = any(:scheduled_at::timestamptz[])
