-- A job and its timer, or no row if the name is taken by a live job; and whether its zone is recorded. The scheduler is told
-- if it is due soon.
-- $1–$17 the job, $18 scheduled, $19 due, $20 max runs, $21 lane, $22 priority, $23 overlap, $24 expires,
-- $25 grace (null: 60), $26 the horizon of the wheel in seconds, $27 now, $28 concurrency key.
with made as (
    insert into sexton.jobs (
        id, namespace, name, app, kind, schedule, timezone, anchor, timing_key, target, payload, options, labels,
        description, owner, declaration, created_at, updated_at
    )
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $17)
    on conflict (namespace, name) where status <> 'deleted' do nothing
    returning id
),
timed as (
    insert into sexton.timers (
        job_id, shard, revision, timing_key, scheduled_at, due_at, max_runs, lane, priority, overlap, expires_seconds,
        grace_seconds, concurrency_key
    )
    select id, sexton.shard_of(id, (select value::int from sexton.settings where name = 'shards')),
           1, $9, $18, $19, $20, $21, $22, $23, $24, $25, $28
    from made
    returning job_id, shard
)
select job_id, case when $19::timestamptz <= $27::timestamptz + $26::float8 * interval '1 second'
                    then pg_notify('sexton_timers', shard || ':' || job_id) end is null as later,
       $7 = 'UTC' or exists (select from sexton.zones where name = $7) as zone_known
from timed
