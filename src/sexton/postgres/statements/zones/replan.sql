-- Move timers, which the caller has locked, to their times under changed rules of the zone. A job that has no occurrence left
-- is completed. The scheduler is notified if one is due within :horizon_seconds. :jobs and :next_at belong together; :next_at is
-- null where none is left. :through: all jobs of the zone up to this one are moved; null: all were moved before.
with batch as materialized (
    select * from unnest(:jobs::bigint[], :next_at::timestamptz[]) as b (job_id, next_at)
),
completed as (
    update sexton.jobs as job
    set status = 'completed', completed_at = coalesce(:now::timestamptz, clock_timestamp()),
        updated_at = coalesce(:now::timestamptz, clock_timestamp()), paused_reason = null, paused_until = null
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
    set through = :through::bigint,
        moved = case when through is null and :through::bigint is not null then 0 else moved end + cardinality(:jobs::bigint[])
    where name = :zone
)
select (
    select pg_notify('sexton_timers', string_agg(distinct shard::text, ','))
    from moved
    where due_at <= coalesce(:now::timestamptz, clock_timestamp()) + :horizon_seconds::float8 * interval '1 second'
    having count(*) > 0
) is not null as soon
