-- The next number of a campaign, a list, a digest, a sequence or a schedule.
select nextval('sexton.campaign_ids')
