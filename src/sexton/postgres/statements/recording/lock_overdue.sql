-- Lock runs that wait for a report after their time, or after a request to cancel. Each kind has its own partial index,
-- hence two branches.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
late as materialized (
    select run.ctid as place
    from sexton.runs as run
    where run.state = 'waiting' and run.deadline_at <= (select now from moment)
    order by run.deadline_at
    limit :limit
    for update skip locked
),
unwanted as materialized (
    select run.ctid as place
    from sexton.runs as run
    where run.cancel_requested_at is not null and run.state = 'waiting'
    limit :limit
    for update skip locked
)
select
-- include: reported
where run.ctid = any (array(select place from late union select place from unwanted))
