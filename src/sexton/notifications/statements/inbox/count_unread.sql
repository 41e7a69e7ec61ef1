-- How many messages of an inbox are unread, up to a limit.
select count(*)
from (
    select 1
    from sexton.inbox
    where namespace = :namespace and user_id = :user_id and read_at is null and archived_at is null
        and expires_at > coalesce(:now::timestamptz, clock_timestamp())
    limit :limit
) counted
