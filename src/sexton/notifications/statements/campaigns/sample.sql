-- Record the progress of a campaign, now and some seconds ago: that gives its speed.
update sexton.campaigns
set sampled_before_at = sampled_at, sampled_before = sampled, sampled_at = :now, sampled = :count, looked_at = :now
where id = :campaign_id and namespace = :namespace
