-- Revoke a feed; `changed` is false if it was revoked before.
update sexton.calendar_feeds as feed
set revoked_at = coalesce(feed.revoked_at, :now::timestamptz, clock_timestamp()), revoked_by = coalesce(feed.revoked_by, :actor)
from (select id, revoked_at from sexton.calendar_feeds where id = :feed_id and namespace = :namespace for update) as before
where feed.id = before.id
returning feed.*, before.revoked_at is null as changed
