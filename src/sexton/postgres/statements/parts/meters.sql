-- The namespaces of a batch that have a quota of runs, each with what is left of it: `room` of the live runs (null: no such
-- quota), and `next_at`, from when on the `rate` of firings counts; a `second` of it may start at once. Their meters are locked until the end.
-- Two kinds of namespaces wait with their jobs: those whose meter another transaction has locked (`present` and not here), and those with
-- too little room by a count of live runs that is older than a second (`stale`): the caller counts their runs, and tries again with these
-- namespaces in :fresh.
-- Expects moment, and due with job_id and namespace. Another common table expression follows.
present as materialized (
    select space.name as namespace, count(*) as wanted
    from due
    join sexton.namespaces as space on space.name = due.namespace
    where space.live_runs is not null or space.firings_per_second is not null
    group by space.name
),
meters as materialized (
    select meter.namespace,
        case when space.live_runs is not null
            then greatest(0, space.live_runs - (meter.counted + meter.taken - meter.counted_taken)) end as room,
        space.firings_per_second as rate, greatest(1, 1 / space.firings_per_second) as second,
        greatest(meter.free_at, (select now from moment)) as next_at, meter.counted_at
    from sexton.meters as meter
    join sexton.namespaces as space on space.name = meter.namespace
    where meter.kind = 'runs' and meter.namespace in (select present.namespace from present)
    order by meter.namespace
    for update of meter skip locked
),
stale as materialized (
    select meters.namespace
    from meters
    join present on present.namespace = meters.namespace
    where (meters.counted_at = '-infinity' and meters.room is not null
            or meters.room < present.wanted and meters.counted_at < (select now from moment) - interval '1 second')
        and meters.namespace <> all (:fresh::text[])
),
waiting as materialized (
    select present.namespace
    from present
    where present.namespace not in (select meters.namespace from meters)
        or present.namespace in (select stale.namespace from stale)
),
