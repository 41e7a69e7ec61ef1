-- The timers of some jobs, with the columns of load_timers. Paused jobs are left out.
select job_id, shard, due_at, scheduled_at, revision, timing_key, grace_seconds,
-- include: timer_kind
from sexton.timers
where job_id = any (:jobs) and due_at < 'infinity'
