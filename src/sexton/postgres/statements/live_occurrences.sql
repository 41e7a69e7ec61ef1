-- Which of these occurrences have a live run. $1 job, $2 scheduled
select scheduled_at from sexton.runs where job_id = $1 and trigger <> 'manual' and scheduled_at = any($2::timestamptz[])
