-- Campaigns of a namespace, the latest first.
select campaign.*, coalesce(:now::timestamptz, clock_timestamp()) as now
from sexton.campaigns as campaign
where campaign.namespace = :namespace and (:before::bigint is null or campaign.id < :before)
    and (:status::text is null or campaign.status = :status)
    and (:pattern::text is null or campaign.name ilike :pattern)
order by campaign.id desc
limit :limit
