-- Lock runs that wait for a report and whose time is over, or that somebody asked to cancel, with the policies of their
-- revision. Each by its own partial index, hence two branches. $1 now, $2 how many
with moment as materialized (select coalesce($1::timestamptz, clock_timestamp()) as now),
late as materialized (
    select run.ctid as place
    from sexton.runs as run
    where run.state = 'waiting' and run.deadline_at <= (select now from moment)
    order by run.deadline_at
    limit $2
    for update skip locked
),
unwanted as materialized (
    select run.ctid as place
    from sexton.runs as run
    where run.cancel_requested_at is not null and run.state = 'waiting'
    limit $2
    for update skip locked
)
select
    run.id, run.job_id, run.claim, run.state, run.node, run.attempt, run.crashes, run.deadline_at,
    run.cancel_requested_at is not null as cancelled,
    extract(epoch from run.claimed_at)::float8 as started,
    extract(epoch from (select now from moment))::float8 as finished,
    coalesce(old.definition -> 'options', job.options, '{}')::text as options
from sexton.runs as run
left join sexton.jobs as job on job.id = run.job_id
left join sexton.job_revisions as old
    on old.job_id = run.job_id and old.revision = run.revision and run.revision is distinct from job.revision
where run.ctid = any (array(select place from late union select place from unwanted))
