-- Messages of an inbox, the latest first.
select id, message_id, parts, topic, created_at, read_at, archived_at
from sexton.inbox
where namespace = :namespace and user_id = :user_id and id < :before
    and expires_at > coalesce(:now::timestamptz, clock_timestamp())
    and (archived_at is not null) = :archived::boolean
    and (not :unread::boolean or read_at is null)
order by id desc
limit :limit
