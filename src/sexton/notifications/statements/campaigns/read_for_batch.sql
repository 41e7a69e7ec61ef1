-- What a run must know before each batch of its chunk; no row: the run no longer owns the chunk.
select campaign.id, campaign.namespace, campaign.status, campaign.vars, campaign.send_window::text as send_window, campaign.rate,
    campaign.on_doubt, campaign.looked_at, campaign.late_seconds, chunk.number, chunk.first_id, chunk.last_id, chunk.marked_at,
    space.campaign_sends_per_day as quota,
    coalesce(:now::timestamptz, clock_timestamp()) as now
from sexton.campaigns as campaign
join sexton.campaign_chunks as chunk on chunk.campaign_id = campaign.id and chunk.number = :number
left join sexton.namespaces as space on space.name = campaign.namespace
where campaign.id = :campaign_id and campaign.job_id = :job_id and chunk.state = 'open' and chunk.run_id = :run_id
