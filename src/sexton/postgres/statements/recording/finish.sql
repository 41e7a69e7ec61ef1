-- Record the successes of a node. The runs that it still holds under the named claims go to history, and release
-- the next run of their job. A run that is not deleted here was lost to another claim: its result is dropped, and nothing
-- else changes. The answer is one row: how many were recorded; and if some were not, which ones were. The worker only
-- estimates the database's time: its times never precede the claim here, but its duration is kept. Every statement that
-- locks several runs locks them in the order of their ids, with runs in another slot than 0 last: so no two statements
-- deadlock.
-- :runs, :claims, :started and :finished (in seconds) are texts of arrays; :results is null if there are none at all.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
ended as (
    delete from sexton.runs as run
    using (
        select *
        from unnest(
            :runs::text::bigint[], :claims::text::integer[], :started::text::float8[], :finished::text::float8[],
            :results::text[]
        ) as done (id, claim, started, finished, result)
        order by done.id
    ) as done
    where run.id = done.id and run.claim = done.claim and run.node = :node
    returning run.id, run.job_id, run.scheduled_at, run.trigger, run.missed, run.revision, run.attempt, run.claim,
        run.node, run.fired_at, run.claimed_at, run.slot, run.idempotency_key, run.parent_run, run.payload,
        done.started, done.finished, done.result
),
recorded as (
    insert into sexton.history (
        recorded_at, run_id, job_id, scheduled_at, status, trigger, missed, revision, attempt, claim, node, fired_at,
        started_at, finished_at, result, idempotency_key, parent_run, payload
    )
    select
        (select now from moment), run.id, run.job_id, run.scheduled_at, 'success', run.trigger, run.missed, run.revision,
        run.attempt, run.claim, run.node, run.fired_at, greatest(run.claimed_at, to_timestamp(run.started)),
        greatest(run.claimed_at, to_timestamp(run.started)) + make_interval(secs => run.finished - run.started),
        run.result::jsonb, run.idempotency_key, run.parent_run, run.payload
    from ended as run
),
-- include: promoted
select count(*) as recorded, case when count(*) < cardinality(:runs::text::bigint[]) then array_agg(ended.id) end as ids
from ended
