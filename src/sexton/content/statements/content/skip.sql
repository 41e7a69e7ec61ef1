update sexton.content_schedules set skipped = skipped || :at::timestamptz, revision = revision + 1 where id = :schedule_id
