-- An api node is still there. $1 node, $2 lease in seconds, $3 detail
update sexton.nodes
set lease_until = clock_timestamp() + $2 * interval '1 second', heartbeat_at = clock_timestamp(), detail = $3::jsonb
where id = $1 and state <> 'dead'
returning id, clock_timestamp() as now
