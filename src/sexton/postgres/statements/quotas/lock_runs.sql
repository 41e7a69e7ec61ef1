-- What is left of a namespace's quota of runs, by the rules of firing/fire_metered; its meter is locked until the transaction ends. No
-- row: it has no quota. `stale`: its live runs were counted more than a second ago.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now)
select space.live_runs, space.firings_per_second as rate, greatest(meter.free_at, moment.now) as next_at,
    case when space.live_runs is not null
        then greatest(0, space.live_runs - (meter.counted + meter.taken - meter.counted_taken)) end as room,
    meter.counted_at = '-infinity' as uncounted, meter.counted_at < moment.now - interval '1 second' as stale
from moment
cross join sexton.meters as meter
join sexton.namespaces as space on space.name = meter.namespace
where meter.namespace = :namespace and meter.kind = 'runs'
for no key update of meter
