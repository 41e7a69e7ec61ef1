-- Set the zone of a recurring notification to the new zone of its recipient.
update sexton.notification_schedules set zone = :zone where id = :id and namespace = :namespace
