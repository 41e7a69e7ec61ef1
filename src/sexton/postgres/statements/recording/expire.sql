-- Waiting runs that are past their time end as expired, including those of a lane that no worker serves; waiting runs that
-- were asked to cancel end as cancelled. Each kind has its own partial index, hence two branches.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
stale as materialized (
    select run.ctid as place
    from sexton.runs as run
    where run.expires_at <= (select now from moment) and run.state in ('pending', 'failed')
    order by run.expires_at
    limit :limit
    for update skip locked
),
unwanted as materialized (
    select run.ctid as place
    from sexton.runs as run
    where run.cancel_requested_at is not null and run.state in ('pending', 'failed')
    limit :limit
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
-- include: recorded_gone
-- include: promoted
select count(*) from ended
