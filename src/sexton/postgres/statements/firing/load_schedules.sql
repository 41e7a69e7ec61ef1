-- The fields that make the schedules of some jobs.
select id, name, kind, schedule, timezone, anchor, options, moved, timing_key from sexton.jobs where id = any (:jobs)
