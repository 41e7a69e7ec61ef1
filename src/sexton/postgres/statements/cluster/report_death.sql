-- The process of a worker has ended: its node is dead at once, with the runs that had :begun (the latest last) and the
-- way in which it ended. Notifies schedulers, which take its runs back. A node whose runs were taken back already does
-- not change.
with reported as (
    update sexton.nodes as node
    set state = 'dead', lease_until = clock_timestamp(), running = greatest(node.running, 1),
        begun = :begun::bigint[], ended_by = :ended_by, own_end = :own_end
    where node.id = :node and node.begun is null and (node.state <> 'dead' or node.running > 0)
    returning node.id
)
select pg_notify('sexton_deaths', '') from reported
