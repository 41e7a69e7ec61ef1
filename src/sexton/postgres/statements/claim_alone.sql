-- Take one run that has crashed its worker twice, for a node with nothing else in its hands: if it crashes this one
-- too, it is poison and nobody else suffers. Same rules as claim.sql; expired ones are left to the sweeper.
with moment as materialized (select coalesce($3::timestamptz, clock_timestamp()) as now),
picked as materialized (
    select run.ctid as place, run.job_id, run.claim, run.revision
    from sexton.runs as run
    where run.crashes >= 2
        and run.lane = any ($2::integer[])
        and run.state in ('pending', 'failed')
        and run.available_at <= (select now from moment)
        and (run.expires_at is null or run.expires_at > (select now from moment))
        and run.cancel_requested_at is null
        and (select node.state from sexton.nodes as node where node.id = $1) = 'live'
    order by run.priority, run.available_at
    limit 1
    for update skip locked
),
defined as materialized (
    select
        picked.place,
        case when old.definition is null then job.revision else picked.revision end as revision,
        case when old.definition is null then job.name else old.definition ->> 'name' end as name,
        case when old.definition is null then job.target else old.definition -> 'target' end as target,
        case when old.definition is null then job.payload else nullif(old.definition -> 'payload', 'null') end as payload,
        case when old.definition is null then job.options else old.definition -> 'options' end as options,
        case when old.definition is null then job.timezone else old.definition ->> 'timezone' end as timezone
    from picked
    left join sexton.jobs as job on job.id = picked.job_id
    left join sexton.job_revisions as old
        on picked.claim > 0
        and picked.revision is distinct from job.revision
        and old.job_id = picked.job_id
        and old.revision = picked.revision
)
update sexton.runs as run
set state = 'running',
    claim = run.claim + 1,
    attempt = run.attempt + 1,
    node = $1,
    revision = coalesce(defined.revision, run.revision),
    claimed_at = (select now from moment),
    deadline_at = (select now from moment)
        + make_interval(secs => coalesce((defined.options ->> 'timeout_seconds')::float8, 300))
from defined
where run.ctid = defined.place
returning
    run.id, run.job_id, run.claim, run.attempt, run.crashes, run.scheduled_at,
    date_part('epoch', run.due_at) as due_seconds, run.trigger, run.missed, run.idempotency_key, run.revision,
    defined.name, defined.target::text as target, defined.options::text as options,
    coalesce(run.payload, defined.payload)::text as payload,
    case when defined.options ? 'idempotency_key_template' then defined.timezone end as timezone
