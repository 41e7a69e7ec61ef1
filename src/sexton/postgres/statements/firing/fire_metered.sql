-- Fire a batch of jobs whose namespaces have a quota of runs, by the rules of fire_special. Beyond the firings per
-- second, runs start later (available_at), as the rate allows. If the namespace has no room among its live runs, the
-- occurrence is recorded as skipped. Jobs of `stale` namespaces do not fire: their live runs must be counted first
-- (firing/count_live).
with
-- include: fence
moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
due as materialized (
    select d.job_id, d.number, lane.namespace
    from fence
    cross join unnest(:jobs::text::bigint[], :groups::text::integer[]) as d (job_id, number)
    join sexton.timers t on t.job_id = d.job_id and t.due_at = (:due::timestamptz[])[d.number]
    join sexton.lanes lane on lane.id = t.lane
    where fence.held
),
-- include: meters
batch as materialized (
    select due.job_id, (:revisions::integer[])[due.number] as revision,
           (:scheduled::timestamptz[])[due.number] as scheduled_at, (:due::timestamptz[])[due.number] as due_at,
           (:next_scheduled::timestamptz[])[due.number] as next_at, (:next_due::timestamptz[])[due.number] as next_due_at,
           (:may_end::boolean[])[due.number] as may_end
    from due
    where due.namespace not in (select waiting.namespace from waiting)
),
-- include: special_moved
admitted as materialized (
    select placed.*, coalesce(placed.place > placed.room, false) as refused,
        case when turn.starts_at > (select now from moment) then turn.starts_at else placed.due_at end as available_at
    from (
        select moved.*, meters.namespace, meters.room, meters.rate, meters.second, meters.next_at,
            row_number() over (partition by meters.namespace order by moved.due_at, moved.job_id) as place
        from moved
        join sexton.lanes as lane on lane.id = moved.lane
        left join meters on meters.namespace = lane.namespace
    ) as placed
    cross join lateral (
        select placed.next_at + (placed.place / placed.rate - placed.second) * interval '1 second' as starts_at
    ) as turn
),
-- include: charged
refused as (
    insert into sexton.history (job_id, scheduled_at, status, reason, trigger, revision)
    select job_id, scheduled_at, 'skipped', 'quota', 'schedule', revision from admitted where refused
),
fired as materialized (
    select job_id, revision, lane, priority, overlap, expires_seconds, concurrency_key, scheduled_at, due_at, available_at,
        available_at as not_before
    from admitted
    where not refused
),
-- include: special_runs
select fence.held, (select count(*) from moved) as fired,
       (select count(*) from admitted where refused) as refused,
       array(select stale.namespace from stale) as stale,
       (select pg_notify('sexton_runs', '') where exists (select from fired)),
       (select pg_notify('sexton_cancels', '') where exists (select from stopping))
from fence
