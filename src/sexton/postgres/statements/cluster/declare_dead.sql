-- Workers whose lease has ended are dead from now on: their next beat or claim finds nothing. Only a sweeper that has
-- renewed its own lease without a gap for a whole lease may say so: after an outage of the database every lease has ended.
-- `running` above 0 on a dead node means that it may still hold runs.
update sexton.nodes as node
set state = 'dead', lease_until = moment.now, running = greatest(node.running, 1)
from (select coalesce(:now::timestamptz, clock_timestamp()) as now) as moment
where node.state <> 'dead' and node.lease_until < moment.now and 'worker' = any (node.roles)
returning node.id, node.name
