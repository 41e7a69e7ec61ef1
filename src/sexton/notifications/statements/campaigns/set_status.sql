-- Move a campaign, which is locked, to another status. Null leaves a value as it is.
with before as materialized (
    select status, reason from sexton.campaigns where id = :campaign_id and namespace = :namespace
),
told as (
    -- Keep what stopped the campaign as a whole, and what let it continue: `why` of its messages shows it.
    insert into sexton.campaign_events (namespace, campaign_id, at, kind, reason, actor)
    select :namespace, :campaign_id, :now::timestamptz, coalesce(own.kind, 'resumed'), :reason, :actor
    from before
    left join (values ('paused', 'paused'), ('waiting', 'waiting'), ('cancelled', 'cancelled')) as own (status, kind)
        on own.status = :status
    where before.status <> :status and (own.kind is not null or before.status in ('paused', 'waiting'))
)
update sexton.campaigns
set status = :status, reason = :reason, before_pause = :before_pause,
    conductor_run = coalesce(:conductor_run::bigint, conductor_run),
    looked_at = coalesce(:looked_at::timestamptz, looked_at), armed_at = coalesce(:armed_at::timestamptz, armed_at),
    started_at = coalesce(started_at, :started_at::timestamptz), ended_at = :ended_at::timestamptz,
    canary_state = coalesce(:canary_state, canary_state)
where id = :campaign_id and namespace = :namespace
