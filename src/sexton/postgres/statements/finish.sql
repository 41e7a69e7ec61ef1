-- Record the successes of node $1: the runs it still holds under the claims it names go to history, and let the next
-- run of their job go. A run that is not deleted was lost to another claim: its result is dropped, nothing else is
-- touched. One row comes back: how many were recorded, and which, only if some were not. The worker only estimates the
-- database's time: what it says never precedes the claim, but how long it took is kept. Whoever locks several runs does it
-- in the order of their ids, and those that wait in slot 1 come last: so nobody waits in a ring.
-- $2 runs, $3 claims, $4 started and $5 finished in seconds, as texts of arrays; $6 results, or null for none at all; $7 now
with moment as materialized (select coalesce($7::timestamptz, clock_timestamp()) as now),
ended as (
    delete from sexton.runs as run
    using (
        select *
        from unnest($2::text::bigint[], $3::text::integer[], $4::text::float8[], $5::text::float8[], $6::text[])
            as done (id, claim, started, finished, result)
        order by done.id
    ) as done
    where run.id = done.id and run.claim = done.claim and run.node = $1
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
select count(*) as recorded, case when count(*) < cardinality($2::text::bigint[]) then array_agg(ended.id) end as ids
from ended
