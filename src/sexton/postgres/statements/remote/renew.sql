-- Renew the lease of a worker over HTTP, and read what it serves. A dead worker is read and stays dead. No row: this namespace
-- has no such worker for which the caller may act. `suspects`: it holds runs that may end its process.
with renewed as (
    update sexton.nodes as node
    set lease_until = clock_timestamp() + (node.detail ->> 'lease_seconds')::float8 * interval '1 second',
        heartbeat_at = clock_timestamp(),
        running = cardinality(node.begun)
    where node.id = :node and node.credential = :credential and node.namespaces = array[:namespace::text] and node.state <> 'dead'
    returning node.id
)
select node.state, node.handlers, node.queues, node.begun, (node.detail ->> 'lease_seconds')::float8 as lease_seconds,
    exists (
        select from sexton.runs as run
        where run.id = any (node.begun) and run.node = node.id and run.state = 'running' and run.company > 0
    ) as suspects,
    (select count(*) from renewed) as renewed
from sexton.nodes as node
where node.id = :node and node.credential = :credential and node.namespaces = array[:namespace::text]
