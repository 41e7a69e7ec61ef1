-- The fields from which the schedules of some jobs are made.
select id, name, kind, schedule, timezone, anchor, options, moved, timing_key from sexton.jobs where id = any (:jobs)
