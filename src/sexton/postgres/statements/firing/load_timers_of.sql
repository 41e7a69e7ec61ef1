-- The timers of some jobs, as load_timers gives them; paused ones are left out.
select job_id, shard, due_at, scheduled_at, revision, timing_key, grace_seconds,
       max_runs is not null or overlap <> 0 or concurrency_key is not null as special
from sexton.timers
where job_id = any (:jobs) and due_at < 'infinity'
