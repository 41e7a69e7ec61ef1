-- Leave the cluster. The row of a worker stays, dead and shown as stopped: runs and history name it, and the reaper
-- checks whether it still holds runs (hence `running`); no run counts a crash. The row of another node is deleted.
with stopped as (
    update sexton.nodes
    set state = 'dead', lease_until = clock_timestamp(), running = greatest(running, 1), begun = '{}',
        detail = detail || '{"stopped": true}'
    where id = :node and state <> 'dead' and 'worker' = any (roles)
)
delete from sexton.nodes where id = :node and not 'worker' = any (roles)
