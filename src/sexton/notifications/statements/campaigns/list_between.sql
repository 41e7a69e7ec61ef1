-- Campaigns of a namespace whose time is in a range: an instant, or a local time of some zone. Drafts have no time.
select campaign.id, campaign.name, campaign.status, campaign.send_at, campaign.local_time, campaign.timezone, campaign.when_past,
    campaign.armed_at
from sexton.campaigns as campaign
where campaign.namespace = :namespace and campaign.status <> 'draft'
    and (
        (campaign.send_at >= :start::timestamptz and campaign.send_at < :end::timestamptz)
        or (campaign.local_time >= :first::timestamp and campaign.local_time < :last::timestamp)
    )
order by campaign.id desc
limit :limit
