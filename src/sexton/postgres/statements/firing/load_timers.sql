-- What falls due in a window, for shards just taken or refilled.
select job_id, shard, due_at, scheduled_at, revision, timing_key, grace_seconds,
       max_runs is not null or overlap <> 0 or concurrency_key is not null as special
from sexton.timers
where shard = any (:shards::smallint[]) and due_at > :after and due_at <= :until
