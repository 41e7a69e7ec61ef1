-- Delete nodes that have been gone for a day, and that no live run or shard names any more. A dead node that still holds
-- a run (its abandoned claim was carried out long after) goes to the reaper again; a node whose runs wait for a report is
-- only named by them.
with held as materialized (
    select run.node, bool_or(run.state = 'running') as running
    from sexton.runs as run
    where run.node is not null
    group by run.node
),
overlooked as (
    update sexton.nodes as node
    set running = 1
    where node.state = 'dead' and node.running = 0 and node.id in (select held.node from held where held.running)
)
delete from sexton.nodes as node
where node.lease_until < coalesce(:now::timestamptz, clock_timestamp()) - interval '1 day'
    and not exists (select from sexton.shards as shard where shard.holder = node.id)
    and node.id not in (select held.node from held)
