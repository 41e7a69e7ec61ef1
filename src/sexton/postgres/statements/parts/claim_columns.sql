-- What a worker needs to know of a run that it has claimed.
-- Expects run, job as it is now, and old with the definition of the run's revision if that is another.
-- Instants are seconds, exact to the microsecond until the year 2242: making a datetime takes the driver as long as five
-- other columns, and few handlers use it.
    run.id, run.job_id, run.lane, run.claim, run.attempt, run.crashes, date_part('epoch', run.scheduled_at) as scheduled_seconds,
    date_part('epoch', run.fired_at) as fired_seconds, date_part('epoch', run.due_at) as due_seconds,
    run.trigger, run.missed, run.idempotency_key, run.revision,
    coalesce(old.definition ->> 'name', job.name) as name,
    coalesce(old.definition -> 'target', job.target)::text as target,
    coalesce(old.definition -> 'options', job.options)::text as options,
    coalesce(
        run.payload,
        case when old.definition is null then job.payload else nullif(old.definition -> 'payload', 'null') end
    )::text as payload,
    case when coalesce(old.definition -> 'options', job.options) ? 'idempotency_key_template'
        then coalesce(old.definition ->> 'timezone', job.timezone) end as timezone
