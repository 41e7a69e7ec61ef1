-- Declare workers dead whose lease has ended: their next beat or claim finds no row. Only a sweeper that has renewed its
-- own lease without a gap for the length of a lease may do so: after an outage of the database every lease has ended. `running`
-- above 0 on a dead node means that it may still hold runs. Also returns the state of each node before.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
lapsed as materialized (
    select node.id, node.state
    from sexton.nodes as node
    where node.state <> 'dead' and node.lease_until < (select now from moment) and 'worker' = any (node.roles)
    for no key update
)
update sexton.nodes as node
set state = 'dead', lease_until = (select now from moment), running = greatest(node.running, 1)
from lapsed
where node.id = lapsed.id
returning node.id, node.name, lapsed.state as state_before
