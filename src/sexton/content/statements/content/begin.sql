update sexton.content_schedules set begun_at = :scheduled_at, begun_run = :run_id where id = :schedule_id
