-- The zone of recipients without a zone, in a namespace.
select timezone from sexton.notification_settings where namespace = :namespace
