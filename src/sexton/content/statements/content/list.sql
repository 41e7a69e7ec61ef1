-- Planned actions after a place, in the order of their time; for a series, its first time counts. No more than :look of them are
-- looked at, whatever the filters leave. A series is in a range if it begins before its end, and goes on after its start.
-- Planned anew for every call, so that only the filters that are given count, and each finds its index.
with single as materialized (
    select *
    from sexton.content_schedules as plan
    where (scheduled_at, id) > (:after_at::timestamptz, :after_id::bigint)
-- include: listed_actions
-- include: listed_single
    order by scheduled_at, id
    limit :look
),
series as materialized (
    select *
    from sexton.content_schedules as plan
    where (scheduled_at, id) > (:after_at::timestamptz, :after_id::bigint)
-- include: listed_actions
-- include: listed_series
    order by scheduled_at, id
    limit :look
),
looked as materialized (
    select * from (select * from single union all select * from series) as plan
    order by scheduled_at, id
    limit :look
),
found as (
    select plan.scheduled_at, plan.id
    from looked as plan
    where (:adapter::text is null or plan.adapter = :adapter)
        and (:action::text is null or plan.action = :action)
        and (:status::text is null or :status =
-- include: plan_status
        )
    order by plan.scheduled_at, plan.id
    limit :limit
),
last as (
    select scheduled_at, id from looked order by scheduled_at desc, id desc limit 1
)
select scheduled_at, id, true as found from found
union all
-- Where the next page begins, if there may be one.
select scheduled_at, id, false from last where (select count(*) from looked) = :look
order by found desc, scheduled_at, id
