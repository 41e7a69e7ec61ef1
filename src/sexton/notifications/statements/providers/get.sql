select name, channel, kind, config, priority, rate, concurrency, on_doubt, enabled, revision, changed_by, changed_at
from sexton.notification_providers
where namespace = :namespace and name = :name
