-- How many chunks of a campaign are open, how many workers could serve them, when the next one is ready, and whether any is left.
select
    (select count(*) from sexton.campaign_chunks as chunk where chunk.campaign_id = :campaign_id and chunk.state = 'open') as open,
    (
        select count(*) from sexton.nodes as node where node.state = 'live' and 'worker' = any (node.roles)
    ) as workers,
    (
        select min(chunk.next_at)
        from sexton.campaign_chunks as chunk
        where chunk.campaign_id = :campaign_id and chunk.state = 'ready' and (chunk.canary or not :canary_only::boolean)
    ) as next_at,
    exists (
        select from sexton.campaign_chunks as chunk
        where chunk.campaign_id = :campaign_id and chunk.state in ('ready', 'open') and chunk.namespace = :namespace
    ) as left
