-- Times until now do not count any more; those that are left out stay so.
update sexton.content_schedules
set scheduled_at = :scheduled_at, timezone = :timezone, recurrence_rule = :recurrence_rule, revision = revision + 1,
    valid_from = case when :recurrence_rule::text is null then null else coalesce(:now::timestamptz, clock_timestamp()) end
where id = :schedule_id
