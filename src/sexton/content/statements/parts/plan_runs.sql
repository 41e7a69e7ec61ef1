-- The live run of a plan's job, and how the latest one ended: `live` and `latest`. Expects a row `plan` with job_id and created_at.
left join lateral (
    select run.state, run.error, run.attempt from sexton.runs as run
    where run.job_id = plan.job_id
    order by run.scheduled_at desc
    limit 1
) as live on true
left join lateral (
    select ended.status, ended.scheduled_at, ended.reason, ended.error, ended.attempt, ended.finished_at
    from sexton.history as ended
    where ended.job_id = plan.job_id and ended.recorded_at >= plan.created_at
    order by ended.recorded_at desc
    limit 1
) as latest on true
