-- What stopped a campaign as a whole, and what let it continue, in order.
select event.at, event.kind, event.reason, event.actor, event.until
from sexton.campaign_events as event
where event.namespace = :namespace and event.campaign_id = :campaign_id
order by event.id
limit :limit
