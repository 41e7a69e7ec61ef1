-- Messages of a namespace, the latest first.
select
-- include: message_columns
from sexton.messages
where namespace = :namespace
    and id < :before
    and (:status::text is null or status = :status)
    and (:template_id::text is null or template_id = :template_id)
    and (:campaign_id::bigint is null or campaign_id = :campaign_id)
order by id desc
limit :limit
