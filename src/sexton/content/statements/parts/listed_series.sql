-- Whether a series goes on after the start of a list. Expects a row `plan` of content_schedules, and a condition before it.
        and plan.recurrence_rule is not null
        and (
            :start::timestamptz is null or plan.scheduled_at >= :start or plan.done_at >= :start
            or exists (select from sexton.timers as timer where timer.job_id = plan.job_id)
        )
