-- Take back the runs of dead workers. A run that had begun, or may have, counts a crash; the others go back as if they
-- had not been claimed. A run that was asked to cancel ends as cancelled. A claim may have been under way when its node
-- was declared dead, so a dead node is checked at once, and again after a minute until it holds nothing: then its
-- `running` becomes 0. Without such a node nothing is scanned, since no index helps here.
-- A run that counts a crash may have ended the process, unless its kind of target is :harmless and only sends something.
-- If the process was ended by its own code, or for the third time otherwise, its runs are suspects from now on: `company`
-- says how many of them may run together in an isolated process, a quarter of the former number. The run that began last
-- is the first suspect, and runs alone. A run that was alone, and not for the first time, has ended the process: it is
-- poison, and dead. That takes three crashes, or one if a run of its job was poison within the hour; five if the process
-- was killed from outside, and ten if nothing is known about its end.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
fallen as materialized (
    select array(
        select node.id
        from sexton.nodes as node, moment
        where node.state = 'dead'
            and node.running > 0
            and node.lease_until not between moment.now - interval '59 seconds' and moment.now - interval '20 seconds'
    ) as ids
),
held as materialized (
    select
        run.id, run.job_id, run.attempt, run.crashes, run.company, run.node, run.claimed_at,
        run.cancel_requested_at is not null as cancelled,
        node.name, node.ended_by, node.own_end,
        node.begun is null or run.id = any (node.begun) as charged,
        node.own_end and run.id = node.begun[cardinality(node.begun)] as latest,
        not exists (
            select from sexton.lanes as lane where lane.id = run.lane and lane.target = any (:harmless::text[])
        ) as dangerous
    from sexton.runs as run
    join sexton.nodes as node on node.id = run.node
    where (select cardinality(ids) from fallen) > 0
        and run.state = 'running'
        and run.node = any ((select ids from fallen)::bigint[])
    limit :limit
    for update of run skip locked
),
crashed as materialized (
    select
        held.*,
        case
            when held.cancelled then 'cancelled'
            when held.charged and held.company = 1 and held.crashes + 1 >= case
                when not held.own_end then case when held.ended_by is null then 10 else 5 end
                when exists (
                    select from sexton.dead as dead
                    where dead.job_id = held.job_id
                        and dead.reason = 'poison'
                        and dead.died_at > (select now from moment) - interval '1 hour'
                ) then 1
                else 3
            end then 'dead'
            else 'pending'
        end as fate,
        case
            when not (held.charged and held.dangerous) then held.company
            when held.latest then 1
            when held.own_end or held.crashes >= 2 then greatest(
                1, count(*) filter (where held.charged and held.dangerous) over (partition by held.node) / 4
            )
            else held.company
        end::smallint as new_company,
        case when held.charged then 'the worker ' || held.name || ' died while it ran this'
            || case when held.company = 1 then ' alone' else '' end || coalesce(': ' || held.ended_by, '')
        end as message
    from held
),
cleared as (
    update sexton.nodes as node
    set running = 0
    where node.id = any ((select ids from fallen)::bigint[])
        and node.lease_until < (select now from moment) - interval '59 seconds'
        and not exists (select from sexton.runs as run where run.node = node.id and run.state = 'running')
),
back as (
    update sexton.runs as run
    set state = case when crashed.charged or run.attempt - 1 - run.crashes <= 0 then 'pending' else 'failed' end,
        attempt = case when crashed.charged then run.attempt else run.attempt - 1 end,
        crashes = case when crashed.charged then run.crashes + 1 else run.crashes end,
        company = crashed.new_company,
        available_at = (select now from moment),
        node = null,
        claimed_at = case when crashed.charged then run.claimed_at end,
        deadline_at = null,
        progress = null,
        error = coalesce(crashed.message, run.error)
    from crashed
    where run.id = crashed.id and crashed.fate = 'pending'
),
tried as (
    insert into sexton.attempts (recorded_at, run_id, attempt, node, started_at, finished_at, outcome, error)
    select
        (select now from moment), crashed.id, crashed.attempt, crashed.node, crashed.claimed_at, (select now from moment),
        'crashed', crashed.message
    from crashed
    where crashed.charged
),
ended as (
    delete from sexton.runs as run
    using crashed
    where run.id = crashed.id and crashed.fate <> 'pending'
    returning
        run.*, crashed.fate as status, case when crashed.fate = 'dead' then 'poison' else run.cancel_reason end as reason,
        run.claimed_at as started_at, (select now from moment) as finished_at, crashed.message, 'poison' as error_group
),
told as materialized (
    select pg_notify('sexton_suspects', '') from crashed where crashed.new_company > 0 having count(*) > 0
),
-- include: recorded
-- include: buried
-- include: promoted
select
    count(*) filter (where crashed.fate = 'pending') as back,
    count(*) filter (where crashed.fate = 'dead') as poison,
    count(*) filter (where crashed.fate = 'cancelled') as cancelled,
    (select count(*) from told) as told
from crashed
