-- Return the unused part of what was taken of a campaign's rate.
update sexton.campaigns
set free_at = greatest(free_at - make_interval(secs => :unused::integer / rate), :now)
where id = :campaign_id and namespace = :namespace
