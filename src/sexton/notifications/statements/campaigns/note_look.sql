-- Record when a run last conducted a campaign.
update sexton.campaigns set looked_at = :now where id = :campaign_id and namespace = :namespace
