select name, channel, open_until, open_reason, opened_at, accepted, rejected, failed, unclear, deferred, accepted_at, failed_at,
    failure, open_until > coalesce(:now::timestamptz, clock_timestamp()) as is_open
from sexton.notification_health
where namespace = :namespace
order by channel, name
limit :limit
