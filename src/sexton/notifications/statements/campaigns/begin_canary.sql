-- The canary of a campaign, which is locked, is chosen; its last chunk was cut in two, or not.
update sexton.campaigns
set canary_state = 'going', chunks = chunks + :chunks
where id = :campaign_id and namespace = :namespace
