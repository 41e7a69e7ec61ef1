delete from sexton.notification_providers where namespace = :namespace and name = :name
