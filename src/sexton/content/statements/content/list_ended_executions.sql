-- Ended occurrences of actions that were recorded after :first and up to :last, the latest first. :run_id, :scheduled_at and :plan_id, with
-- :last, name the last row of the page before, or are null. Filters that are null do not count; planned anew for every call. Of all actions
-- the caller widens the range step by step, because history is ordered by job.
select ended.recorded_at, ended.run_id, ended.scheduled_at, ended.trigger, ended.status, ended.reason, ended.attempt, ended.error,
       ended.started_at, ended.finished_at, ended.until_at, ended.occurrences, ended.result::text,
       plan.id as schedule_id, plan.entity_type, plan.entity_id, plan.action, plan.adapter, plan.created_by,
       item.result as item_result, item.error as item_error, ended.node, node.name as worker
from sexton.content_schedules as plan
join sexton.history as ended on ended.job_id = plan.job_id
left join sexton.content_releases as release on release.id = plan.release_id
-- The result of an item comes from one run; other runs of its release ended without it, because the release was moved.
cross join lateral (
    select case when release.begun_run = ended.run_id then plan.result end as result,
           case when release.begun_run = ended.run_id then plan.error end as error
) as item
left join sexton.nodes as node on node.id = ended.node
where plan.namespace = :namespace and ended.recorded_at > :first and ended.recorded_at <= :last
    and (:run_id::bigint is null
        or (ended.recorded_at, coalesce(ended.run_id, 0), ended.scheduled_at, plan.id)
            < (:last, :run_id, :scheduled_at::timestamptz, :plan_id::bigint))
    and (:statuses::text[] is null or coalesce(item.result, ended.status) = any (:statuses))
-- include: plan_chosen
order by ended.recorded_at desc, coalesce(ended.run_id, 0) desc, ended.scheduled_at desc, plan.id desc
limit :limit
