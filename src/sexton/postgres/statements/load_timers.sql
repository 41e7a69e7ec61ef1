-- What falls due in a window, for shards just taken or refilled. $1 shards, $2 after, $3 until
select job_id, shard, due_at, scheduled_at, revision, timing_key, grace_seconds,
       max_runs is not null or overlap <> 0 or concurrency_key is not null as special
from sexton.timers
where shard = any($1::smallint[]) and due_at > $2 and due_at <= $3
