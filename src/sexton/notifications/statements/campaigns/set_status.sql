-- Move a campaign, which is locked, to another status. What is null stays as it is.
update sexton.campaigns
set status = :status, reason = :reason, before_pause = :before_pause,
    conductor_run = coalesce(:conductor_run::bigint, conductor_run),
    looked_at = coalesce(:looked_at::timestamptz, looked_at), armed_at = coalesce(:armed_at::timestamptz, armed_at),
    started_at = coalesce(started_at, :started_at::timestamptz), ended_at = coalesce(:ended_at::timestamptz, ended_at),
    canary_state = coalesce(:canary_state, canary_state)
where id = :campaign_id and namespace = :namespace
