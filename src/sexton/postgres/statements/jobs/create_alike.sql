-- Create jobs for one instant each, and their timers. The arrays belong together; the other parameters are the same for all jobs.
with wanted as materialized (
    select each.id, each.shard, each.name, each.at, each.timing_key::uuid as timing_key, each.payload, each.description, each.owner
    from unnest(
        :ids::bigint[], :shards::smallint[], :names::text[], :times::text[], :keys::text[], :payloads::text[],
        :descriptions::text[], :owners::text[]
    ) as each (id, shard, name, at, timing_key, payload, description, owner)
),
made as (
    insert into sexton.jobs (
        id, namespace, name, kind, schedule, timezone, timing_key, target, payload, options, labels, description, owner,
        created_at, updated_at
    )
    select wanted.id, :namespace, wanted.name, :kind, wanted.at, :timezone, wanted.timing_key, :target::jsonb,
           wanted.payload::jsonb, :options::jsonb, :labels::jsonb, wanted.description, wanted.owner, :now, :now
    from wanted
)
insert into sexton.timers (
    job_id, shard, revision, timing_key, scheduled_at, due_at, lane, priority, overlap, expires_seconds, grace_seconds
)
select wanted.id, wanted.shard, 1, wanted.timing_key, wanted.at::timestamptz, wanted.at::timestamptz, :lane::integer,
       :priority::smallint, :overlap::smallint, :expires_seconds::integer, :grace_seconds::integer
from wanted
