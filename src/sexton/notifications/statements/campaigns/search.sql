-- Campaigns of a namespace by number, or by a part of their names; the latest first.
select campaign.id, campaign.name, campaign.status, campaign.template_id
from sexton.campaigns as campaign
where campaign.namespace = :namespace and (campaign.id = :number::bigint or campaign.name ilike :pattern)
order by campaign.id desc
limit :limit
