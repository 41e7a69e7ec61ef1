-- Move the timers of a batch, each only if it is unchanged since the scheduler read it. If this is the last occurrence of a job, delete
-- its timer and complete it.
-- Expects batch with job_id, revision, scheduled_at, due_at, next_at, next_due_at and may_end (whether this occurrence may be
-- the last), and :now. Another common table expression follows.
ending as materialized (
    -- Jobs before timers, as edits lock them: while this waits for an edit, it holds no lock that the edit needs next.
    select j.id
    from batch b
    join sexton.timers t on t.job_id = b.job_id and t.due_at = b.due_at
    join sexton.jobs j on j.id = b.job_id
    where b.may_end and (b.next_at is null or t.fired_count + 1 >= t.max_runs)
    order by j.id
    for no key update of j
),
advanced as (
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
moved as materialized (
    select * from advanced
    union all
    select * from ended
),
