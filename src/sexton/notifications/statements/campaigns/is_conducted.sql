-- Whether the run that conducts a campaign is live.
select exists (select from sexton.runs where id = :run_id)
