-- The live schedulers that have not beaten since :since: they may still lead.
select name from sexton.nodes
where 'scheduler' = any (roles) and state <> 'dead' and lease_until > clock_timestamp() and heartbeat_at < :since
