-- Messages of a campaign, by the ids of their recipients. Reads the next :most of them, and returns those that match the
-- filter, and the last one that was read: the next page begins after it.
with next as (
    select id, user_id, status, campaign_id, template_id, due_at, namespace
    from sexton.messages
    where campaign_id = :campaign_id and user_id > :place
    order by user_id
    limit :most
),
messages as (
    -- The row number is computed after the limit, and the namespace is checked after that: PostgreSQL has no statistics of new rows,
    -- expects few messages of the campaign, and would sort all of them.
    select messages.*, row_number() over (order by messages.user_id) as place, (
-- include: message_meant
    and (:statuses::text[] is null or
-- include: message_status
    = any (:statuses::text[]))
    ) as meant
    from next as messages
)
select messages.id, messages.user_id, messages.place, messages.meant
from messages
where messages.namespace = :namespace and (messages.meant or messages.place = :most)
order by messages.user_id
limit :limit
