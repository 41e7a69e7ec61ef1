update sexton.content_schedules
set state_before = :state_before, version_before = :version_before
where id = :schedule_id and namespace = :namespace
