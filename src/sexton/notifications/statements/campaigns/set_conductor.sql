-- Set the run that conducts a campaign, which is locked.
update sexton.campaigns set conductor_run = :run_id where id = :campaign_id
