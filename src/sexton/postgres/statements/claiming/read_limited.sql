-- What may be claimed from the lanes of a node (in the order given) under the limits of their queues, which are locked
-- (claiming/lock_queues): a row for each stretch of runs, in the order in which they are served. The highest priority comes
-- first within a queue, and within a priority one key after the other, beginning after the key that was served last.
-- share_out in share.py decides what is claimed. At most :limit runs of a queue are of interest; with
-- a :company only one suspect of a stretch, which may run beside as many others as it says (claiming/claim_suspects).
-- Expired and cancelled runs are left to the sweeper.
with recursive moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
-- 1. The queues, and how much their limits leave: `tokens` of the rate, `places` of the concurrency (null: no such limit).
-- Running runs are counted in runs_limited.
counted as materialized (
    select queue.id, queue.key_concurrency, queue.key_place, queue.rate, served.place, served.lanes,
        coalesce(queue.burst, greatest(ceil(queue.rate), 1)) as burst,
        case when queue.rate is not null then least(
            coalesce(queue.burst, greatest(ceil(queue.rate), 1)),
            queue.tokens + queue.rate * greatest(0, date_part('epoch', (select now from moment) - queue.refilled_at))
        ) end as tokens,
        case when queue.concurrency is not null then queue.concurrency - (
            select count(*)
            from sexton.runs as run
            where run.limited_by = queue.id and run.state in ('running', 'waiting')
        ) end as places
    from (
        select lane.namespace, lane.queue, array_agg(lane.id order by wanted.place) as lanes, min(wanted.place) as place
        from unnest(:lanes::integer[]) with ordinality as wanted (lane, place)
        join sexton.lanes as lane on lane.id = wanted.lane
        group by lane.namespace, lane.queue
    ) as served
    join sexton.queues as queue on queue.namespace = served.namespace and queue.name = served.queue
    where queue.paused_at is null
        and (select node.state from sexton.nodes as node where node.id = :node) = 'live'
),
-- 2. Each lane and priority is a stretch of runs_claimable. They are served in the order of their numbers; `room` is
-- how many runs may be taken from the queue.
stretches as materialized (
    select counted.id as queue, served.lane, level.priority::smallint as priority, counted.key_concurrency as most,
        counted.key_place, (
            select lane.keyed and counted.key_concurrency is not null from sexton.lanes as lane where lane.id = served.lane
        ) as keyed,
        greatest(0, least(
            case when :company::integer is not null then 1 else :limit::integer end, counted.places, floor(counted.tokens + 1e-9)
        ))::integer as room,
        row_number() over (order by counted.place, level.priority, served.place) as number
    from counted
    cross join unnest(counted.lanes) with ordinality as served (lane, place)
    cross join generate_series(0, 3) as level (priority)
),
-- 3. Where runs have keys, walk from key to key of a stretch: from the key after the one that was served last to the end
-- (`past_end` false), then from the beginning up to it. Take as many runs of a key as its share leaves `free`; skip a key
-- whose share is used up. Read 1,000 keys of a stretch at most: the next claim continues where this one stopped.
walk (number, past_end, key, steps, found, free, runs) as (
    select stretch.number, false, stretch.key_place, 0, 0, 0, null::bigint[]
    from stretches as stretch
    where stretch.keyed and :company::integer is null
    union all
    select walk.number, next.past_end, next.key, walk.steps + 1,
        walk.found + cardinality(there.runs), share.free, there.runs
    from walk
    cross join lateral (select * from stretches as stretch where stretch.number = walk.number) as stretch
    -- The next key: one after this one or, past the end, one up to where the walk began.
    cross join lateral (
        select either.past_end, either.key
        from (
            (
                select false as past_end, run.concurrency_key as key
                from sexton.runs as run
                where not walk.past_end
                    and run.lane = stretch.lane
                    and run.priority = stretch.priority
                    and run.state in ('pending', 'failed')
                    and run.concurrency_key > walk.key
                order by run.concurrency_key
                limit 1
            )
            union all
            (
                select true, run.concurrency_key
                from sexton.runs as run
                where run.lane = stretch.lane
                    and run.priority = stretch.priority
                    and run.state in ('pending', 'failed')
                    and run.concurrency_key > case when walk.past_end then walk.key else '' end
                    and run.concurrency_key <= stretch.key_place
                order by run.concurrency_key
                limit 1
            )
        ) as either
        order by either.past_end
        limit 1
    ) as next
    -- What the share of the key leaves.
    cross join lateral (
        select stretch.most - count(*)::integer as free
        from sexton.runs as run
        where run.limited_by = stretch.queue and run.concurrency_key = next.key and run.state in ('running', 'waiting')
    ) as share
    -- The runs of the key.
    cross join lateral (
        select array(
            select run.id
            from sexton.runs as run
            where run.lane = stretch.lane
                and run.priority = stretch.priority
                and run.concurrency_key = next.key
                and run.company = 0
                -- include: ready
            order by run.available_at
            limit greatest(0, least(share.free, stretch.room))
        ) as runs
    ) as there
    where walk.steps < 1000 and walk.found < stretch.room
),
-- What the walk has found, and the key at which it was cut short.
keyed as materialized (
    select walk.number,
        array_agg(there.run order by walk.steps, there.nth) filter (where there.run is not null) as runs,
        array_agg(walk.key order by walk.steps, there.nth) filter (where there.run is not null) as keys,
        array_agg(walk.free order by walk.steps, there.nth) filter (where there.run is not null) as free,
        max(walk.key) filter (where walk.steps = 1000) as cut
    from walk
    left join lateral unnest(walk.runs) with ordinality as there (run, nth) on true
    group by walk.number
)
-- 4. The answer: `runs` that may go, with the `keys` they have and what is left `free` of the share of each; `waiting`
-- counts all whose time has come, up to one more than there is room for.
select stretch.queue, stretch.room, counted.tokens, counted.rate, counted.burst, (select now from moment) as now,
    coalesce(found.runs, '{}') as runs, found.keys, found.free, found.cut, (
        select count(*)
        from (
            select from sexton.runs as run
            where run.lane = stretch.lane
                and run.priority = stretch.priority
                and run.state in ('pending', 'failed')
                and run.available_at <= (select now from moment)
            limit stretch.room + 1
        ) as run
    ) as waiting
from stretches as stretch
join counted on counted.id = stretch.queue
cross join lateral (
    select keyed.runs, keyed.keys, keyed.free, keyed.cut from keyed where keyed.number = stretch.number
    union all
    select array(
        select run.id
        from sexton.runs as run
        where run.lane = stretch.lane
            and run.priority = stretch.priority
            and run.company = 0
            -- include: ready
        order by run.available_at
        limit stretch.room
    ), null, null, null
    where not stretch.keyed and :company::integer is null
    union all
    select array_agg(run.id), array_agg(case when stretch.keyed then run.concurrency_key end), array_agg(
        stretch.most - (
            select count(*)::integer
            from sexton.runs as other
            where other.limited_by = stretch.queue
                and other.concurrency_key = run.concurrency_key
                and other.state in ('running', 'waiting')
        )
    ), null
    from sexton.runs as run
    where :company::integer is not null
        and run.lane = stretch.lane
        and run.priority = stretch.priority
        and run.company > 0 and run.company >= :company::integer
        -- include: ready
    having :company::integer is not null
) as found
order by stretch.number
