-- The runs of dead workers go back, and the crash counts; the third one makes the run poison, and dead. A run that was
-- asked to cancel ends as cancelled. A claim may have been under way when its node was declared dead, so a dead node is
-- looked at at first, and again after a minute until it holds nothing any more: then its `running` is set to 0. Without
-- such a node nothing is scanned, as there is no index for this.
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
crashed as materialized (
    select
        run.id, run.attempt, run.node, run.claimed_at,
        case
            when run.cancel_requested_at is not null then 'cancelled'
            when run.crashes >= 2 then 'dead'
            else 'pending'
        end as fate,
        'the worker ' || (select node.name from sexton.nodes as node where node.id = run.node)
            || ' died while it ran this' as message
    from sexton.runs as run
    where (select cardinality(ids) from fallen) > 0
        and run.state = 'running'
        and run.node = any ((select ids from fallen)::bigint[])
    limit :limit
    for update of run skip locked
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
    set state = 'pending',
        crashes = run.crashes + 1,
        available_at = (select now from moment),
        node = null,
        deadline_at = null,
        progress = null,
        error = crashed.message
    from crashed
    where run.id = crashed.id and crashed.fate = 'pending'
),
tried as (
    insert into sexton.attempts (recorded_at, run_id, attempt, node, started_at, finished_at, outcome, error)
    select
        (select now from moment), crashed.id, crashed.attempt, crashed.node, crashed.claimed_at, (select now from moment),
        'crashed', crashed.message
    from crashed
),
ended as (
    delete from sexton.runs as run
    using crashed
    where run.id = crashed.id and crashed.fate <> 'pending'
    returning
        run.*, crashed.fate as status, case when crashed.fate = 'dead' then 'poison' else run.cancel_reason end as reason,
        run.claimed_at as started_at, (select now from moment) as finished_at, crashed.message, 'poison' as error_group
),
-- include: recorded
-- include: buried
-- include: promoted
select
    count(*) filter (where crashed.fate = 'pending') as back,
    count(*) filter (where crashed.fate = 'dead') as poison,
    count(*) filter (where crashed.fate = 'cancelled') as cancelled
from crashed
