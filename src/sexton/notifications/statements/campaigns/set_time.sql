-- A campaign, which is locked, goes at this instant.
update sexton.campaigns
set send_at = :send_at, local_time = null
where id = :campaign_id and namespace = :namespace
