-- Record, once a day, that the quota of the day holds a campaign, which is locked.
insert into sexton.campaign_events (namespace, campaign_id, at, kind, reason, actor, until)
select :namespace, :campaign_id, :now, 'quota', :reason, :actor, :until
where not exists (
    select from sexton.campaign_events as event
    where event.campaign_id = :campaign_id and event.namespace = :namespace and event.kind = 'quota' and event.until >= :until
)
