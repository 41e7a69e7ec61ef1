-- A run is about to submit messages of its chunk: those of this part that are due at this instant.
update sexton.campaign_chunks
set marked_run = :run_id, marked_after = :after, marked_to = :to, marked_at = :marked_at::timestamptz
where campaign_id = :campaign_id and namespace = :namespace and number = :number and state = 'open' and run_id = :run_id
