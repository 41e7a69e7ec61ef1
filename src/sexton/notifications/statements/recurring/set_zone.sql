-- The recipient of a notification that recurs lives in another zone.
update sexton.notification_schedules set zone = :zone where id = :id and namespace = :namespace
