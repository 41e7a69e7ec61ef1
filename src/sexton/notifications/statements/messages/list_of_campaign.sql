-- Messages of a campaign, by the ids of their recipients. Of the next :most messages those that a filter means, and the last one
-- whether it is meant or not: the next page goes on behind it.
select
-- include: message_columns
    , messages.shown as status, messages.place,
-- include: message_meant
    as meant
from (
    select messages.*,
-- include: message_status
        as shown,
        row_number() over (order by messages.user_id) as place
    from sexton.messages
    where messages.campaign_id = :campaign_id and messages.namespace = :namespace and messages.user_id > :place
    order by messages.user_id
    limit :most
) as messages
where messages.place = :most or (
-- include: message_meant
)
order by messages.user_id
limit :limit
