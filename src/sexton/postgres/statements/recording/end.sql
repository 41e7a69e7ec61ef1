-- End runs of a node without success: dead (with a dead letter) or cancelled. By the rules of recording/finish.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
ended as (
    delete from sexton.runs as run
    using (
        select *
        from unnest(
            :runs::bigint[], :claims::integer[], :started::float8[], :finished::float8[],
            :statuses::text[], :reasons::text[], :outcomes::text[], :messages::text[], :error_groups::text[]
        ) as done (id, claim, started, finished, status, reason, outcome, message, error_group)
        order by done.id
    ) as done
    where run.id = done.id and run.claim = done.claim and run.node = :node
    returning
        run.*, done.outcome, done.status, done.message, done.error_group,
        case when done.status = 'cancelled' then coalesce(run.cancel_reason, done.reason) else done.reason end as reason,
        greatest(run.claimed_at, to_timestamp(done.started)) as started_at,
        greatest(run.claimed_at, to_timestamp(done.started)) + make_interval(secs => done.finished - done.started)
            as finished_at
),
-- include: recorded
tried as (
    insert into sexton.attempts (recorded_at, run_id, attempt, node, started_at, finished_at, outcome, error)
    select
        (select now from moment), run.id, run.attempt, run.node, run.started_at, run.finished_at, run.outcome, run.message
    from ended as run
),
-- include: buried
-- include: promoted
select count(*) as recorded, case when count(*) < cardinality(:runs) then array_agg(ended.id) end as ids
from ended
