-- The timers that fall due in a window, for shards that were just taken or refilled.
select job_id, shard, due_at, scheduled_at, revision, timing_key, grace_seconds,
-- include: timer_kind
from sexton.timers
where shard = any (:shards::smallint[]) and due_at > :after and due_at <= :until
