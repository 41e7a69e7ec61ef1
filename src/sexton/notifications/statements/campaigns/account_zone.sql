-- The zone of a namespace's recipients without one.
select timezone from sexton.notification_settings where namespace = :namespace
