-- The latest messages of the inboxes that are watched, and how many are unread; an empty inbox has one row.
select watched.namespace, watched.user_id, item.id, item.message_id, item.parts, item.topic, item.created_at, item.read_at,
    item.archived_at, coalesce(counted.unread, 0) as unread
from unnest(:namespaces::text[], :user_ids::text[]) as watched (namespace, user_id)
left join lateral (
    select *
    from sexton.inbox latest
    where latest.namespace = watched.namespace and latest.user_id = watched.user_id and latest.archived_at is null
        and latest.expires_at > coalesce(:now::timestamptz, clock_timestamp())
    order by latest.id desc
    limit :latest
) item on true
left join lateral (
    select count(*) as unread
    from (
        select 1
        from sexton.inbox one
        where one.namespace = watched.namespace and one.user_id = watched.user_id and one.read_at is null
            and one.archived_at is null and one.expires_at > coalesce(:now::timestamptz, clock_timestamp())
        limit :most
    ) few
) counted on true
