-- A campaign.
select campaign.*, coalesce(:now::timestamptz, clock_timestamp()) as now
from sexton.campaigns as campaign
where campaign.namespace = :namespace and campaign.id = :campaign_id
