-- What the audience of a campaign, which is locked, means now.
update sexton.campaigns
set audience_id = :audience_id, filter = :filter
where id = :campaign_id and namespace = :namespace
