-- Claim up to :limit runs for a node from its lanes (in the order given), as far as the limits of their queues allow; the
-- queues are locked (claiming/lock_queues). :alone: one run that has crashed its worker twice, to be run alone.
-- The highest priority comes first within a queue, and within a priority one key after the other, from the one after
-- that which was served last. Expired and cancelled runs are left to the sweeper.
-- The answer is small, as the queues are locked until it is sent: the runs, whether some are left that could have gone but
-- for the limits, and in how many seconds it is worth looking again (null: when something has ended).
with recursive moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
-- 1. The queues, and how much their limits leave: `tokens` of the rate, `places` of the concurrency (null: no such limit).
-- What runs is counted in runs_limited.
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
        select lane.queue, array_agg(lane.id order by wanted.place) as lanes, min(wanted.place) as place
        from unnest(:lanes::integer[]) with ordinality as wanted (lane, place)
        join sexton.lanes as lane on lane.id = wanted.lane
        group by lane.queue
    ) as served
    join sexton.queues as queue on queue.namespace = 'default' and queue.name = served.queue
    where queue.paused_at is null
        and (select node.state from sexton.nodes as node where node.id = :node) = 'live'
),
-- 2. Each lane and priority is a stretch of runs_claimable. Their numbers are the order in which they are served; `room` is
-- what may be taken of the queue at the most.
stretches as materialized (
    select counted.id as queue, served.lane, level.priority::smallint as priority, counted.key_concurrency as most,
        counted.key_place, (
            select lane.keyed and counted.key_concurrency is not null from sexton.lanes as lane where lane.id = served.lane
        ) as keyed,
        greatest(0, least(
            case when :alone::boolean then 1 else :limit::integer end, counted.places, floor(counted.tokens + 1e-9)
        ))::integer as room,
        row_number() over (order by counted.place, level.priority, served.place) as number
    from counted
    cross join unnest(counted.lanes) with ordinality as served (lane, place)
    cross join generate_series(0, 3) as level (priority)
),
-- 3. Where runs have keys, from key to key of a stretch: from the one after that which was served last to the end
-- (`past_end` false), then from the beginning up to it. Of each key, as many as its share leaves `free`; a key that has its
-- share is stepped over. No more than 1,000 keys of a stretch: the next claim goes on where this one stopped.
walk (number, past_end, key, steps, found, free, places) as (
    select stretch.number, false, stretch.key_place, 0, 0, 0, null::tid[]
    from stretches as stretch
    where stretch.keyed and not :alone::boolean
    union all
    select walk.number, next.past_end, next.key, walk.steps + 1,
        walk.found + cardinality(there.places), share.free, there.places
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
    -- What its share leaves.
    cross join lateral (
        select stretch.most - count(*)::integer as free
        from sexton.runs as run
        where run.limited_by = stretch.queue and run.concurrency_key = next.key and run.state in ('running', 'waiting')
    ) as share
    -- Its runs.
    cross join lateral (
        select array(
            select run.ctid
            from sexton.runs as run
            where run.lane = stretch.lane
                and run.priority = stretch.priority
                and run.concurrency_key = next.key
                and run.crashes < 2
                -- include: ready
            order by run.available_at
            limit greatest(0, least(share.free, stretch.room))
        ) as places
    ) as there
    where walk.steps < 1000 and walk.found < stretch.room
),
-- 4. What could be taken, in the order of (number, step, nth): `free` is what the share of its key leaves.
-- From stretches without keys,
unkeyed (number, queue, step, nth, key, free, place) as (
    select stretch.number, stretch.queue, 0, run.nth, null::text, 0, run.place
    from stretches as stretch
    cross join lateral (
        select run.ctid as place, row_number() over () as nth
        from (
            select run.ctid
            from sexton.runs as run
            where run.lane = stretch.lane
                and run.priority = stretch.priority
                and run.crashes < 2
                -- include: ready
            order by run.available_at
            limit stretch.room
        ) as run
    ) as run
    where not stretch.keyed and not :alone::boolean
),
-- from the walk,
keyed (number, queue, step, nth, key, free, place) as (
    select walk.number, stretch.queue, walk.steps, there.nth, walk.key, walk.free, there.place
    from walk
    cross join lateral (select stretch.queue from stretches as stretch where stretch.number = walk.number) as stretch
    cross join unnest(walk.places) with ordinality as there (place, nth)
),
-- or, with :alone, what is to be run alone.
alone (number, queue, step, nth, key, free, place) as (
    select stretch.number, stretch.queue, 0, 0, case when stretch.keyed then run.concurrency_key end,
        stretch.most - case when stretch.keyed then (
            select count(*)::integer
            from sexton.runs as other
            where other.limited_by = stretch.queue
                and other.concurrency_key = run.concurrency_key
                and other.state in ('running', 'waiting')
        ) end, run.ctid
    from stretches as stretch
    join sexton.runs as run on run.lane = stretch.lane and run.priority = stretch.priority
    where :alone::boolean
        and run.crashes >= 2
        -- include: ready
),
candidates as materialized (
    select * from unkeyed
    union all
    select * from keyed
    union all
    select * from alone
),
-- 5. No more of a key than its share leaves, no more of a queue than it has room for, and no more than asked for.
chosen as materialized (
    select fair.number, fair.queue, fair.step, fair.nth, fair.key, fair.place
    from (
        select within_key.*, row_number() over (partition by queue order by number, step, nth) as nth_of_queue
        from (
            select candidate.*, row_number() over (partition by queue, key order by number, step, nth) as nth_of_key
            from candidates as candidate
        ) as within_key
        where within_key.key is null or within_key.nth_of_key <= within_key.free
    ) as fair
    cross join lateral (select stretch.room from stretches as stretch where stretch.number = fair.number) as stretch
    where fair.nth_of_queue <= stretch.room
    order by fair.number, fair.step, fair.nth
    limit case when :alone::boolean then 1 else :limit::integer end
),
-- 6. Lock them; what another transaction has locked or taken meanwhile is left out.
picked as materialized (
    select run.ctid as place, run.job_id, run.claim, run.revision, chosen.number, chosen.queue, chosen.step, chosen.nth,
        chosen.key
    from chosen
    join sexton.runs as run on run.ctid = chosen.place
    where run.state in ('pending', 'failed') and run.cancel_requested_at is null
    for update of run skip locked
),
-- 7. Claim them as claim.sql does, and count them among the runs of their queue.
taken as (
    update sexton.runs as run
    set limited_by = picked.queue,
    -- include: claim_set
    from picked
    -- include: claim_definition
    where run.ctid = picked.place
    returning run.id
),
-- 8. How each queue ends up: the tokens and the key of the last run, whether some of its runs remain that could go now,
-- and the key at which a walk was cut short.
ends as materialized (
    select counted.id, counted.tokens - got.runs as tokens, counted.rate, counted.burst, got.runs, got.key, stretch.remaining, stretch.cut
    from counted
    cross join lateral (
        select count(*) as runs,
            (array_agg(picked.key order by picked.number desc, picked.step desc) filter (where picked.key is not null))[1] as key
        from picked
        where picked.queue = counted.id
    ) as got
    cross join lateral (
        select
            bool_or(exists (
                select from sexton.runs as run
                where run.lane = stretch.lane
                    and run.priority = stretch.priority
                    and run.state in ('pending', 'failed')
                    and run.available_at <= (select now from moment)
                offset (select count(*) from picked where picked.number = stretch.number)
            )) as remaining,
            (
                select walk.key
                from walk
                where walk.number = any (array_agg(stretch.number)) and walk.steps = 1000
                order by walk.number
                limit 1
            ) as cut
        from stretches as stretch
        where stretch.queue = counted.id
    ) as stretch
),
-- 9. The next claim goes on from there.
noted as (
    update sexton.queues as queue
    set tokens = coalesce(ends.tokens, queue.tokens),
        refilled_at = case when ends.tokens is null then queue.refilled_at
            else greatest(queue.refilled_at, (select now from moment)) end,
        key_place = coalesce(ends.key, ends.cut, queue.key_place)
    from ends
    where queue.id = ends.id and (ends.runs > 0 or ends.cut is not null)
)
select array(select taken.id from taken) as runs,
    coalesce((select bool_or(ends.remaining) from ends), false) as remaining,
    (
        select min(case
            when ends.cut is not null and ends.runs = 0 then 0.1
            -- Those of 20 ms together: a claim for each would cost more than the runs.
            when ends.remaining and ends.tokens < 1 then
                ceil((least(ends.burst, greatest(1, ends.rate * 0.02)) - ends.tokens) / ends.rate * 1e6) / 1e6
        end)
        from ends
    ) as seconds
