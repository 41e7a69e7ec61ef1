-- Past times no longer count; times that are left out stay left out.
update sexton.content_schedules
set scheduled_at = :scheduled_at, timezone = :timezone, recurrence_rule = :recurrence_rule, revision = revision + 1,
    valid_from = case when :recurrence_rule::text is null then null else coalesce(:now::timestamptz, clock_timestamp()) end
where id = :schedule_id
