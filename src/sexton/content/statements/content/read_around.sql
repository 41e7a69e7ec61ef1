-- For the occurrences of actions: the time, which earlier actions on the entity have not ended (they fired and are live, or are
-- due and will fire; an earlier occurrence of the same series, too), when a window ends that one opens, and what became of the opening of a window that one closes.
select wanted.run_id, clock_timestamp() as now, earlier.ids as earlier, closing.at as closing_at,
       opening.found as opening_found, opening.cancelled_at as opening_cancelled_at, opening.done_at as opening_done_at,
       opening.opened_at, opening.live as opening_live
from unnest(:runs::bigint[], :schedules::bigint[], :at::timestamptz[]) as wanted (run_id, id, at)
join sexton.content_schedules as plan on plan.id = wanted.id
left join lateral (
    select array_agg(other.id) as ids
    from sexton.content_schedules as other
    where other.namespace = plan.namespace and other.entity_type = plan.entity_type and other.entity_id = plan.entity_id
        and other.cancelled_at is null
        and (other.recurrence_rule is not null or (other.done_at is null and other.scheduled_at <= wanted.at))
        and (
            exists (
                select from sexton.runs as run
                where run.job_id = other.job_id and run.trigger in ('schedule', 'catch_up')
                    and (run.scheduled_at, coalesce(other.release_id, other.id)) < (wanted.at, plan.id)
            )
            or exists (
                select from sexton.timers as timer
                where timer.job_id = other.job_id and timer.due_at <= clock_timestamp()
                    and (timer.scheduled_at, coalesce(other.release_id, other.id)) < (wanted.at, plan.id)
            )
        )
) as earlier on true
left join lateral (
    select close.scheduled_at as at from sexton.content_schedules as close
    where plan.window_id = plan.id and close.window_id = plan.id and close.id <> plan.id and close.cancelled_at is null
    order by close.id
    limit 1
) as closing on true
left join lateral (
    select true as found, opens.cancelled_at, opens.done_at,
           coalesce(plan.opened_at, opens.scheduled_at) as opened_at,
           exists (
               select from sexton.runs as run
               where run.job_id = opens.job_id and run.scheduled_at = coalesce(plan.opened_at, opens.scheduled_at)
           ) or exists (
               select from sexton.timers as timer
               where timer.job_id = opens.job_id and timer.scheduled_at = coalesce(plan.opened_at, opens.scheduled_at)
                   and timer.due_at <= clock_timestamp()
           ) as live
    from sexton.content_schedules as opens
    where plan.window_id <> plan.id and opens.id = plan.window_id
) as opening on true
