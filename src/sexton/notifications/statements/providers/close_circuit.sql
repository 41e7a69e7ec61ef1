update sexton.notification_health
set open_until = null, open_reason = null, opened_at = null
where namespace = :namespace and name = :name and channel = :channel and open_until is not null
