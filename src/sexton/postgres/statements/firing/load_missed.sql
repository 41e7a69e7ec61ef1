-- Timers that are past their grace, with what planning needs of their jobs.
select t.job_id, t.revision, t.scheduled_at, t.due_at, t.timing_key, t.fired_count, t.max_runs,
       j.name, j.kind, j.schedule, j.timezone, j.anchor, j.options
from sexton.timers t
join sexton.jobs j on j.id = t.job_id
where t.job_id = any (:jobs) and t.due_at <= clock_timestamp()
