-- A worker over HTTP holds these runs from now on. Returns the time limit of each. No rows: the worker was declared dead.
with held as (
    update sexton.nodes as node
    set begun = node.begun || :runs::bigint[], running = cardinality(node.begun) + cardinality(:runs::bigint[])
    where node.id = :node and node.state = 'live'
    returning node.id
)
select run.id, run.deadline_at
from sexton.runs as run, held
where run.id = any (:runs::bigint[]) and run.node = held.id
