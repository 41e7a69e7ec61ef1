-- What it takes to make the schedules of some jobs. $1 jobs
select id, name, kind, schedule, timezone, anchor, options from sexton.jobs where id = any($1)
