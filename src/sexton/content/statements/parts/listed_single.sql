-- Whether a single action is planned for after the start of a list. Expects a row `plan` of content_schedules, and a condition before it.
        and plan.recurrence_rule is null
        and (:start::timestamptz is null or plan.scheduled_at >= :start)
