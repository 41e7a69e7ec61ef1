-- How a timer is fired: 0 by firing/fire, 1 by firing/fire_special, 2 by firing/fire_metered, if its namespace has a quota of
-- runs. The subselect is hashed once; without such quotas it is empty.
-- Expects select, and other columns, before it, and the columns of timers.
    case
        when lane in (
            select lanes.id
            from sexton.lanes
            join sexton.namespaces on namespaces.name = lanes.namespace
            where namespaces.live_runs is not null or namespaces.firings_per_second is not null
        ) then 2
        when max_runs is not null or overlap <> 0 or concurrency_key is not null then 1
        else 0
    end as special
