-- Timers that are past their grace, with the fields of their jobs for planning, and the cluster's default of
-- catch_up_seconds.
select t.job_id, t.revision, t.scheduled_at, t.due_at, t.timing_key, t.fired_count, t.max_runs,
       j.name, j.kind, j.schedule, j.timezone, j.anchor, j.options, j.moved,
       (select (value #>> '{}')::float8 from sexton.settings where name = 'catch_up_seconds') as catch_up_seconds
from sexton.timers t
join sexton.jobs j on j.id = t.job_id
where t.job_id = any (:jobs) and t.due_at <= clock_timestamp()
