-- What node $1 has claimed under limits, with all that it takes to carry it out, as claim.sql answers. $2 runs
select
    run.id, run.job_id, run.claim, run.attempt, run.crashes, run.scheduled_at,
    date_part('epoch', run.due_at) as due_seconds, run.trigger, run.missed, run.idempotency_key, run.revision,
    coalesce(old.definition ->> 'name', job.name) as name,
    coalesce(old.definition -> 'target', job.target)::text as target,
    coalesce(old.definition -> 'options', job.options)::text as options,
    coalesce(run.payload, case when old.definition is null then job.payload else nullif(old.definition -> 'payload', 'null') end)::text as payload,
    case when coalesce(old.definition -> 'options', job.options) ? 'idempotency_key_template' then coalesce(old.definition ->> 'timezone', job.timezone) end as timezone
from unnest($2::bigint[]) as mine (id)
join sexton.runs as run on run.id = mine.id
left join sexton.jobs as job on job.id = run.job_id
left join sexton.job_revisions as old
    on run.revision is distinct from job.revision
    and old.job_id = run.job_id
    and old.revision = run.revision
where run.node = $1 and run.state = 'running'
