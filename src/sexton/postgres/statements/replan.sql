-- Put timers, which the caller holds, to where they belong under other clock changes. A job that has no occurrence left is
-- completed. The scheduler is told if one is due soon.
-- $1 jobs, $2 next scheduled (null: none), $3 the horizon of the wheel in seconds, $4 now; $5 zone, $6 done up to this job, or null
-- if all have been moved before.
with batch as materialized (
    select * from unnest($1::bigint[], $2::timestamptz[]) as b (job_id, next_at)
),
completed as (
    update sexton.jobs as job
    set status = 'completed', completed_at = coalesce($4::timestamptz, clock_timestamp()),
        updated_at = coalesce($4::timestamptz, clock_timestamp()), paused_reason = null, paused_until = null
    from batch
    where job.id = batch.job_id and batch.next_at is null
),
ended as (
    delete from sexton.timers as timer using batch where timer.job_id = batch.job_id and batch.next_at is null
),
moved as (
    update sexton.timers as timer
    set scheduled_at = batch.next_at,
        due_at = case when isfinite(timer.due_at) then batch.next_at + (timer.due_at - timer.scheduled_at) else timer.due_at end
    from batch
    where timer.job_id = batch.job_id and batch.next_at is not null
    returning timer.shard, timer.due_at
),
progress as (
    update sexton.zones
    set through = $6::bigint,
        moved = case when through is null and $6::bigint is not null then 0 else moved end + cardinality($1::bigint[])
    where name = $5
)
select (
    select pg_notify('sexton_timers', string_agg(distinct shard::text, ','))
    from moved
    where due_at <= coalesce($4::timestamptz, clock_timestamp()) + $3::float8 * interval '1 second'
    having count(*) > 0
) is not null as soon
