-- Messages of a namespace, or of a recipient, the oldest first. Reads the next :most of them, and returns those that match the
-- filter, and the last one that was read: the next page begins after it. Planned anew for
-- every call: each finds its index.
with next as (
    select id, user_id, status, campaign_id, template_id, due_at
    from sexton.messages
    where namespace = :namespace and (:user_id::text is null or user_id = :user_id) and id > :place
    order by id
    limit :most
),
messages as (
    -- The row number is computed after the limit: else PostgreSQL may sort all of them.
    select messages.*, row_number() over (order by messages.id) as place, (
-- include: message_meant
    and (:statuses::text[] is null or
-- include: message_status
    = any (:statuses::text[]))
    ) as meant
    from next as messages
)
select messages.id, messages.user_id, messages.place, messages.meant
from messages
where messages.meant or messages.place = :most
order by messages.id
limit :limit
