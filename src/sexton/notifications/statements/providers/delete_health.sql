delete from sexton.notification_health where namespace = :namespace and name = :name
