-- Messages of a campaign, by the ids of their recipients, the last first. Looks at the next :most of them: those that the filter means, and the last one,
-- behind which the next page begins.
with next as (
    select id, user_id, status, campaign_id, template_id, due_at, namespace
    from sexton.messages
    where campaign_id = :campaign_id and user_id < :place
    order by user_id desc
    limit :most
),
messages as (
    -- Numbered behind the bound, and the namespace behind it: PostgreSQL, which knows little of a ledger that has just been
    -- written, takes the messages of a campaign for few, and would sort all of them.
    select messages.*, row_number() over (order by messages.user_id desc) as place, (
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
order by messages.user_id desc
limit :limit
