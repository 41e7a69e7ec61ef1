-- A run has looked after a campaign.
update sexton.campaigns set looked_at = :now where id = :campaign_id and namespace = :namespace
