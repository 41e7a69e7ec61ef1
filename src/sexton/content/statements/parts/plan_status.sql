-- The state of an action, from the ledger of its job; an item of a release that was tried has it in its own row. Expects a row `plan` of
-- content_schedules, and an expression in its place.
case
    when plan.cancelled_at is not null then 'cancelled'
    when plan.result in ('changed', 'no_op', 'not_undone') then 'done'
    when plan.result = 'failed' then 'failed'
    when plan.result in ('skipped', 'undone') then 'skipped'
    -- If an action was moved while a try was to come, the run of that try may end after the run that did it.
    when plan.recurrence_rule is null and plan.done_at is not null then 'done'
    when exists (select from sexton.runs as run where run.job_id = plan.job_id) then 'processing'
    when exists (select from sexton.timers as timer where timer.job_id = plan.job_id) then 'pending'
    else coalesce(
        (
            select case ended.status when 'success' then 'done' when 'dead' then 'failed' else 'skipped' end
            from sexton.history as ended
            where ended.job_id = plan.job_id and ended.recorded_at >= plan.created_at
            order by ended.recorded_at desc
            limit 1
        ),
        -- The ledger keeps outcomes for a limited number of days.
        case when plan.done_at is not null then 'done' else 'skipped' end
    )
end
