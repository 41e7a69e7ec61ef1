-- Fire a batch of jobs that fire does not know how to: their runs are counted (max_runs), must not overlap, have a
-- concurrency key, or this occurrence is the last. The same fence, the same parameters, and per group whether this
-- occurrence may be the last (:may_end).
with
-- include: fence
batch as materialized (
    select d.job_id, (:revisions::integer[])[d.number] as revision,
           (:scheduled::timestamptz[])[d.number] as scheduled_at, (:due::timestamptz[])[d.number] as due_at,
           (:next_scheduled::timestamptz[])[d.number] as next_at, (:next_due::timestamptz[])[d.number] as next_due_at,
           (:may_end::boolean[])[d.number] as may_end
    from unnest(:jobs::text::bigint[], :groups::text::integer[]) as d (job_id, number), fence
    where fence.held
),
ending as materialized (
    -- Jobs before timers, as edits lock them: what waits for an edit here does not hold what the edit needs next.
    select j.id
    from batch b
    join sexton.timers t on t.job_id = b.job_id
    join sexton.jobs j on j.id = b.job_id
    where b.may_end and (b.next_at is null or t.fired_count + 1 >= t.max_runs)
    order by j.id
    for no key update of j
),
moved as (
    update sexton.timers t
    set scheduled_at = b.next_at, due_at = b.next_due_at, fired_count = t.fired_count + 1
    from batch b
    where (select count(*) from ending) >= 0 and t.job_id = b.job_id and t.scheduled_at = b.scheduled_at and t.due_at = b.due_at and t.revision = b.revision
      and t.due_at <= coalesce(:now::timestamptz, clock_timestamp())
      and (not b.may_end or (b.next_at is not null and (t.max_runs is null or t.fired_count + 1 < t.max_runs)))
    returning t.job_id, t.revision, t.lane, t.priority, t.overlap, t.expires_seconds, t.concurrency_key, b.scheduled_at, b.due_at
),
ended as (
    delete from sexton.timers t
    using batch b
    where (select count(*) from ending) >= 0 and b.may_end
      and t.job_id = b.job_id and t.scheduled_at = b.scheduled_at and t.due_at = b.due_at and t.revision = b.revision
      and t.due_at <= coalesce(:now::timestamptz, clock_timestamp())
      and (b.next_at is null or t.fired_count + 1 >= t.max_runs)
    returning t.job_id, t.revision, t.lane, t.priority, t.overlap, t.expires_seconds, t.concurrency_key, b.scheduled_at, b.due_at
),
completed as (
    update sexton.jobs j
    set status = 'completed', completed_at = coalesce(:now::timestamptz, clock_timestamp())
    from ended e
    where j.id = e.job_id
),
fired as materialized (
    select * from moved
    union all
    select * from ended
),
free as (
    insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision,
                             concurrency_key)
    select job_id, lane, priority, due_at, scheduled_at, due_at, due_at + expires_seconds * interval '1 second', revision,
           concurrency_key
    from fired
    where overlap = 0
),
live as (
    insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, slot,
                             concurrency_key)
    select job_id, lane, priority, due_at, scheduled_at, due_at, due_at + expires_seconds * interval '1 second', revision, 0,
           concurrency_key
    from fired
    where overlap <> 0
    on conflict (job_id, slot) where slot is not null do nothing
    returning job_id
),
queued as (
    insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, slot,
                             concurrency_key)
    select job_id, lane, priority, 'infinity', scheduled_at, due_at, due_at + expires_seconds * interval '1 second', revision, 1,
           concurrency_key
    from fired
    where overlap in (2, 3) and job_id not in (select job_id from live)
    on conflict (job_id, slot) where slot is not null do nothing
    returning job_id
),
stopping as (
    -- What is caught up runs to its end. A run that is locked is about to end, or to go back to its queue: then stop_overlapped asks it.
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
select fence.held, (select count(*) from fired) as fired,
       (select pg_notify('sexton_runs', '') where exists (select from fired)),
       (select pg_notify('sexton_cancels', '') where exists (select from stopping))
from fence
