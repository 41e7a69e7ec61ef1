-- Messages of a namespace, the oldest first. Of the next :most messages those that a filter means, and the last one
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
        row_number() over (order by messages.id) as place
    from sexton.messages
    where messages.namespace = :namespace and messages.id > :place
    order by messages.id
    limit :most
) as messages
where messages.place = :most or (
-- include: message_meant
)
order by messages.id
limit :limit
