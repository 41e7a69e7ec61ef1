-- A campaign, and the chunk of one of its messages: why that message may wait, apart from its own row.
select campaign.id, campaign.name, campaign.status, campaign.reason, campaign.rate, campaign.canary, campaign.canary_state,
    chunk.canary as in_canary, chunk.next_at, chunk.wait_reason, coalesce(:now::timestamptz, clock_timestamp()) as now
from sexton.campaigns as campaign
left join lateral (
    select each.canary, each.next_at, each.wait_reason
    from sexton.campaign_chunks as each
    where each.campaign_id = campaign.id and each.namespace = campaign.namespace
        and :message_id::bigint between each.first_id and each.last_id
    limit 1
) as chunk on true
where campaign.namespace = :namespace and campaign.id = :campaign_id
