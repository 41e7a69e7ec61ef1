-- Messages of a campaign, by the ids of their recipients, the last first. Of the next :most those that a filter means, and the last one whether it is
-- meant or not: the next page goes on behind it.
select messages.id, messages.user_id, messages.place, messages.place < :most or (
-- include: message_meant
    and (:statuses::text[] is null or
-- include: message_status
    = any (:statuses::text[]))
) as meant
from (
    -- Numbered behind the bound, and the namespace behind it: else PostgreSQL, which knows little of a ledger that has just been written,
    -- takes the messages of a campaign for few, and sorts all of them.
    select next.*, row_number() over (order by next.user_id desc) as place
    from (
        select messages.id, messages.user_id, messages.status, messages.campaign_id, messages.template_id, messages.due_at, messages.namespace
        from sexton.messages
        where messages.campaign_id = :campaign_id and messages.user_id < :place
        order by messages.user_id desc
        limit :most
    ) as next
) as messages
where messages.namespace = :namespace and (messages.place = :most or (
-- include: message_meant
    and (:statuses::text[] is null or
-- include: message_status
    = any (:statuses::text[]))
))
order by messages.user_id desc
limit :limit
