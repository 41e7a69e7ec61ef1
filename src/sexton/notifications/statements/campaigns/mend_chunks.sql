-- Chunks of a campaign whose run ended without closing them, such as a cancelled run, are ready again.
update sexton.campaign_chunks as chunk
set state = 'ready', run_id = null, next_at = :now, changed_at = :now
where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.state = 'open'
    and not exists (select from sexton.runs as run where run.id = chunk.run_id)
returning chunk.number
