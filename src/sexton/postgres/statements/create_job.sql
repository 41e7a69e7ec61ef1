-- A job and its timer, or no row if the name is taken by a live job. The scheduler is told if it is due soon.
-- $1–$17 the job, $18 shard, $19 scheduled, $20 due, $21 max runs, $22 lane, $23 priority, $24 overlap, $25 expires,
-- $26 grace (null: 60), $27 the horizon of the wheel in seconds, $28 now.
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
        grace_seconds
    )
    select id, $18, 1, $9, $19, $20, $21, $22, $23, $24, $25, $26 from made
)
select id, case when $20::timestamptz <= $28::timestamptz + $27::float8 * interval '1 second'
                then pg_notify('sexton_timers', $18::smallint || ':' || id) end is null as later
from made
