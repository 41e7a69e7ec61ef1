-- Make the runs of fired occurrences, as the overlap of each job allows; the others are recorded as skipped.
-- Expects fired with job_id, revision, lane, priority, overlap, expires_seconds, concurrency_key, scheduled_at, due_at,
-- available_at, and not_before for a run that is queued (null: none); and :now. The last of the common table expressions.
free as (
    insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision,
                             concurrency_key)
    select job_id, lane, priority, available_at, scheduled_at, due_at, due_at + expires_seconds * interval '1 second', revision,
           concurrency_key
    from fired
    where overlap = 0
),
live as (
    insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, slot,
                             concurrency_key)
    select job_id, lane, priority, available_at, scheduled_at, due_at, due_at + expires_seconds * interval '1 second', revision, 0,
           concurrency_key
    from fired
    where overlap <> 0
    on conflict (job_id, slot) where slot is not null do nothing
    returning job_id
),
queued as (
    insert into sexton.runs (job_id, lane, priority, available_at, not_before, scheduled_at, due_at, expires_at, revision, slot,
                             concurrency_key)
    select job_id, lane, priority, 'infinity', not_before, scheduled_at, due_at, due_at + expires_seconds * interval '1 second',
           revision, 1, concurrency_key
    from fired
    where overlap in (2, 3) and job_id not in (select job_id from live)
    on conflict (job_id, slot) where slot is not null do nothing
    returning job_id
),
stopping as (
    -- Catch-up runs are not cancelled. A locked run is about to end, or to go back to its queue: then stop_overlapped asks it to end.
    update sexton.runs r
    set cancel_requested_at = coalesce(:now::timestamptz, clock_timestamp()), cancel_reason = 'the next occurrence is due'
    where r.id = any (array(
        select running.id
        from fired f
        join sexton.runs running on running.job_id = f.job_id and running.slot = 0 and running.cancel_requested_at is null
            and running.trigger <> 'catch_up'
        where f.overlap = 3 and f.job_id not in (select job_id from live)
        for update of running skip locked
    ))
    returning 1
),
overlapped as (
    insert into sexton.history (job_id, scheduled_at, status, reason, trigger, revision)
    select job_id, scheduled_at, 'skipped', 'overlap', 'schedule', revision
    from fired
    where overlap <> 0 and job_id not in (select job_id from live) and job_id not in (select job_id from queued)
)
