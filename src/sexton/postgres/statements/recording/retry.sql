-- Put runs of a node back for another attempt after a delay in seconds, with a row for the failed attempt. A run that its
-- handler postponed (`snoozed`) does not use up an attempt. A run that was asked to cancel meanwhile ends here as
-- cancelled. By the rules of recording/finish.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
held as materialized (
    select
        run.id, run.attempt, run.node, run.cancel_requested_at is not null as cancelled,
        greatest(run.claimed_at, to_timestamp(done.started)) as started_at,
        greatest(run.claimed_at, to_timestamp(done.started)) + make_interval(secs => done.finished - done.started)
            as finished_at,
        done.delay, done.outcome, done.message
    from unnest(
        :runs::bigint[], :claims::integer[], :started::float8[], :finished::float8[], :delays::float8[],
        :outcomes::text[], :messages::text[]
    ) as done (id, claim, started, finished, delay, outcome, message)
    join sexton.runs as run on run.id = done.id and run.claim = done.claim and run.node = :node
    order by run.id
    for update of run
),
back as (
    update sexton.runs as run
    set state = case when held.outcome = 'snoozed' and run.attempt - 1 = 0 then 'pending' else 'failed' end,
        attempt = case when held.outcome = 'snoozed' then run.attempt - 1 else run.attempt end,
        available_at = (select now from moment) + make_interval(secs => held.delay),
        node = null,
        deadline_at = null,
        progress = null,
        error = coalesce(held.message, run.error)
    from held
    where run.id = held.id and not held.cancelled
),
tried as (
    insert into sexton.attempts (recorded_at, run_id, attempt, node, started_at, finished_at, outcome, error)
    select
        (select now from moment), held.id, held.attempt, held.node, held.started_at, held.finished_at, held.outcome,
        held.message
    from held
),
ended as (
    delete from sexton.runs as run
    using held
    where run.id = held.id and held.cancelled
    returning
        run.*, 'cancelled' as status, run.cancel_reason as reason, held.started_at, held.finished_at, held.message
),
-- include: recorded
-- include: promoted
select count(*) as recorded, case when count(*) < cardinality(:runs) then array_agg(held.id) end as ids
from held
