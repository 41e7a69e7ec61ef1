-- Messages of a namespace, the oldest first. Of the next :most those that a filter means, and the last one whether it is
-- meant or not: the next page goes on behind it.
select messages.id, messages.user_id, messages.place, messages.place < :most or (
-- include: message_meant
    and (:statuses::text[] is null or
-- include: message_status
    = any (:statuses::text[]))
) as meant
from (
    -- Numbered behind the bound: else PostgreSQL may sort all of them.
    select next.*, row_number() over (order by next.id) as place
    from (
        select messages.id, messages.user_id, messages.status, messages.campaign_id, messages.template_id, messages.due_at
        from sexton.messages
        where messages.namespace = :namespace and messages.id > :place
        order by messages.id
        limit :most
    ) as next
) as messages
where messages.place = :most or (
-- include: message_meant
    and (:statuses::text[] is null or
-- include: message_status
    = any (:statuses::text[]))
)
order by messages.id
limit :limit
