-- Take up to :wanted messages of a campaign's rate. None are granted before free_at.
with before as materialized (
    select campaign.id, campaign.free_at, campaign.free_at <= :now as granted
    from sexton.campaigns as campaign
    where campaign.id = :campaign_id and campaign.namespace = :namespace
    for no key update
),
taken as (
    update sexton.campaigns as campaign
    set free_at = greatest(before.free_at, :now) + make_interval(secs => :wanted::integer / campaign.rate), looked_at = :now
    from before
    where campaign.id = before.id and before.granted
)
select before.granted, before.free_at from before
