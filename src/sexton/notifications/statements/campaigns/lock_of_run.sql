-- Lock the campaign of a run of its job until the transaction ends.
select campaign.*, coalesce(:now::timestamptz, clock_timestamp()) as now
from sexton.campaigns as campaign
where campaign.id = :campaign_id and campaign.job_id = :job_id
for no key update
