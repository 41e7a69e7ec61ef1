-- Dead runs become dead letters.
-- Expects moment, and ended as recorded does, with error_group besides. Another common table expression follows.
buried as (
    insert into sexton.dead (
        run_id, job_id, died_at, reason, error, error_group, lane, priority, scheduled_at, due_at, revision, trigger,
        missed, attempt, idempotency_key, parent_run, payload
    )
    select
        run.id, run.job_id, (select now from moment), run.reason, run.message, run.error_group, run.lane, run.priority,
        run.scheduled_at, run.due_at, run.revision, run.trigger, run.missed, run.attempt, run.idempotency_key,
        run.parent_run, run.payload
    from ended as run
    where run.status = 'dead'
),
