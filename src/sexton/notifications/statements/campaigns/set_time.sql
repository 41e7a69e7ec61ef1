-- Set the instant at which a campaign, which is locked, is sent.
update sexton.campaigns
set send_at = :send_at, local_time = null
where id = :campaign_id and namespace = :namespace
