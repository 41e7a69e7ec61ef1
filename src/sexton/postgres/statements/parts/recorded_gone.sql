-- Runs that no worker holds go to history as expired or cancelled.
-- Expects moment, and ended with whole runs. Another common table expression follows.
recorded as (
    insert into sexton.history (
        recorded_at, run_id, job_id, scheduled_at, status, reason, trigger, missed, revision, attempt, claim,
        fired_at, finished_at, error, idempotency_key, parent_run, payload
    )
    select
        (select now from moment), run.id, run.job_id, run.scheduled_at,
        case when run.cancel_requested_at is null then 'expired' else 'cancelled' end,
        case when run.cancel_requested_at is null then 'expired' else run.cancel_reason end, run.trigger, run.missed,
        run.revision, run.attempt, run.claim, run.fired_at, (select now from moment), run.error, run.idempotency_key,
        run.parent_run, run.payload
    from ended as run
),
