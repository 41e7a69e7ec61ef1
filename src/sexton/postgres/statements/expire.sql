-- Runs that wait past their time end as expired, also those of a lane that nobody serves; those that somebody asked
-- to cancel while they wait end as cancelled. Each by its own partial index, hence two branches.
with moment as materialized (select coalesce($1::timestamptz, clock_timestamp()) as now),
stale as materialized (
    select run.ctid as place
    from sexton.runs as run
    where run.expires_at <= (select now from moment) and run.state in ('pending', 'failed')
    order by run.expires_at
    limit $2
    for update skip locked
),
unwanted as materialized (
    select run.ctid as place
    from sexton.runs as run
    where run.cancel_requested_at is not null and run.state in ('pending', 'failed')
    limit $2
    for update skip locked
),
picked as materialized (
    select place from stale
    union
    select place from unwanted
),
ended as (
    delete from sexton.runs as run
    where run.ctid = any (array(select picked.place from picked))
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
select count(*) from ended
