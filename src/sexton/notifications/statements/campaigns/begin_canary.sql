-- Record that the canary of a campaign, which is locked, is chosen, and whether its last chunk was cut in two.
update sexton.campaigns
set canary_state = 'going', chunks = chunks + :chunks
where id = :campaign_id and namespace = :namespace
