-- Renew the lease of a node, and record its state. If the node was declared dead, there is no row. `last_beat_at` is the time
-- of the beat before.
-- Expects :node, :lease_seconds, :running, :backend_pids and :detail; another common table expression follows.
renewed as (
    update sexton.nodes as node
    set lease_until = clock_timestamp() + :lease_seconds::float8 * interval '1 second', heartbeat_at = clock_timestamp(),
        running = :running, backend_pids = :backend_pids, detail = :detail::jsonb
    from (select id, heartbeat_at from sexton.nodes where id = :node) as was
    where node.id = was.id and node.state <> 'dead'
    returning node.state, node.heartbeat_at, was.heartbeat_at as last_beat_at
),
