-- Messages of a recipient, the latest first. Of the next :most messages those that a filter means, and the last one
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
        row_number() over (order by messages.id desc) as place
    from sexton.messages
    where messages.namespace = :namespace and messages.user_id = :user_id and messages.id < :place
    order by messages.id desc
    limit :most
) as messages
where messages.place = :most or (
-- include: message_meant
)
order by messages.id desc
limit :limit
