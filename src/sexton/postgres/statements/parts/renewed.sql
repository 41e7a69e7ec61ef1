-- Renew the lease of a node, and record how it is. If the node was declared dead, there is no row.
-- Expects :node, :lease_seconds, :running, :backend_pids and :detail; another common table expression follows.
renewed as (
    update sexton.nodes
    set lease_until = clock_timestamp() + :lease_seconds::float8 * interval '1 second', heartbeat_at = clock_timestamp(),
        running = :running, backend_pids = :backend_pids, detail = :detail::jsonb
    where id = :node and state <> 'dead'
    returning state
),
