-- Messages of a recipient, the latest first.
select
-- include: message_columns
    ,
-- include: message_status
    as status
from sexton.messages
where namespace = :namespace
    and user_id = :user_id
    and id < :before
    and (:status::text is null or :status =
-- include: message_status
    )
    and (:template_id::text is null or template_id = :template_id)
    and (:campaign_id::bigint is null or campaign_id = :campaign_id)
order by id desc
limit :limit
