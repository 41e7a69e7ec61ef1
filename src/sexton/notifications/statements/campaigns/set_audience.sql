-- Set the list that the audience of a campaign, which is locked, refers to.
update sexton.campaigns
set audience_id = :audience_id, filter = :filter
where id = :campaign_id and namespace = :namespace
