-- Runs that have ended without success go to history.
-- Expects moment, and ended with whole runs and, of each, status, reason, started_at, finished_at and message. Another
-- common table expression follows.
recorded as (
    insert into sexton.history (
        recorded_at, run_id, job_id, scheduled_at, status, reason, trigger, missed, revision, attempt, claim, node,
        fired_at, started_at, finished_at, error, idempotency_key, parent_run, payload
    )
    select
        (select now from moment), run.id, run.job_id, run.scheduled_at, run.status, run.reason, run.trigger, run.missed,
        run.revision, run.attempt, run.claim, run.node, run.fired_at, run.started_at, run.finished_at, run.message,
        run.idempotency_key, run.parent_run, run.payload
    from ended as run
),
