-- Take those of the runs $3 for node $1 that can be claimed and are in its lanes $2: as claim does, which see. What a
-- broker says of a run may be old, doubled or wrong; what stands here decides. Joining on ctid as in claim.
with moment as materialized (select coalesce($4::timestamptz, clock_timestamp()) as now),
picked as materialized (
    select run.*
    from unnest($3::text::bigint[]) as wanted (id)
    cross join lateral (
        select run.ctid as place, run.job_id, run.claim, run.revision,
            run.cancel_requested_at is not null or run.expires_at <= (select now from moment) as gone
        from sexton.runs as run
        where run.id = wanted.id
            and run.lane = any ($2::integer[])
            and run.state in ('pending', 'failed')
            and run.available_at <= (select now from moment)
            and run.crashes < 2
        for update skip locked
    ) as run
    where (select node.state from sexton.nodes as node where node.id = $1) = 'live'
),
ended as (
    delete from sexton.runs as run
    using picked
    where run.ctid = picked.place and picked.gone
    returning run.*
),
recorded as (
    insert into sexton.history (
        recorded_at, run_id, job_id, scheduled_at, status, reason, trigger, missed, revision, attempt, claim,
        fired_at, finished_at, error, idempotency_key, parent_run, payload
    )
    select
        (select now from moment), run.id, run.job_id, run.scheduled_at,
        case when run.cancel_requested_at is null then 'expired' else 'cancelled' end,
        case when run.cancel_requested_at is null then 'expired' else run.cancel_reason end, run.trigger, run.missed,
        run.revision, run.attempt, run.claim, run.fired_at, (select now from moment), run.error, run.idempotency_key,
        run.parent_run, run.payload
    from ended as run
),
promoted as (
    update sexton.runs as run
    set slot = 0, available_at = (select now from moment)
    where run.ctid = any (array(
        select next.place
        from ended
        cross join lateral (
            select next.ctid as place from sexton.runs as next where next.job_id = ended.job_id and next.slot = 1 offset 0
        ) as next
        where ended.slot = 0
    ))
)
update sexton.runs as run
set state = 'running',
    claim = run.claim + 1,
    attempt = run.attempt + 1,
    node = $1,
    revision = coalesce(case when old.definition is null then job.revision end, run.revision),
    claimed_at = (select now from moment),
    deadline_at = (select now from moment) + make_interval(
        secs => coalesce((coalesce(old.definition -> 'options', job.options) ->> 'timeout_seconds')::float8, 300))
from picked
left join lateral (
    select job.revision, job.name, job.target, job.payload, job.options, job.timezone
    from sexton.jobs as job
    where job.id = picked.job_id
    offset 0
) as job on true
left join lateral (
    select old.definition
    from sexton.job_revisions as old
    where picked.claim > 0
        and picked.revision is distinct from job.revision
        and old.job_id = picked.job_id
        and old.revision = picked.revision
    offset 0
) as old on true
where run.ctid = picked.place and picked.gone is not true
returning
    run.id, run.job_id, run.claim, run.attempt, run.crashes, run.scheduled_at,
    date_part('epoch', run.due_at) as due_seconds, run.trigger, run.missed, run.idempotency_key, run.revision,
    coalesce(old.definition ->> 'name', job.name) as name,
    coalesce(old.definition -> 'target', job.target)::text as target,
    coalesce(old.definition -> 'options', job.options)::text as options,
    coalesce(run.payload, case when old.definition is null then job.payload else nullif(old.definition -> 'payload', 'null') end)::text as payload,
    case when coalesce(old.definition -> 'options', job.options) ? 'idempotency_key_template' then coalesce(old.definition ->> 'timezone', job.timezone) end as timezone
