-- Record what was decided about occurrences of one job: runs, as its overlap allows, and skipped occurrences. The caller
-- has locked the job's row and its timer, and moves the timer in the same transaction. Missed ones run one after another if
-- :chained, as in firing/catch_up.
with wanted as materialized (
    select r.*, r.due_at + :expires_seconds::integer * interval '1 second' as expires_at,
           row_number() over (order by r.scheduled_at) - 1 as place,
           :chained::boolean and (:overlap::smallint <> 0 or r.trigger = 'catch_up') as chained
    from unnest(
        :scheduled::timestamptz[], :due::timestamptz[], :triggers::text[], :missed::boolean[], :available::timestamptz[],
        :priorities::smallint[]
    ) as r (scheduled_at, due_at, trigger, missed, available_at, priority)
),
free as (
    insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, trigger, missed,
                             concurrency_key)
    select :job_id, :lane, priority, available_at, scheduled_at, due_at, expires_at, :revision, trigger, missed, :concurrency_key
    from wanted
    where :overlap::smallint = 0 and not chained
),
live as (
    insert into sexton.runs
        (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, trigger, missed, slot,
         concurrency_key)
    select :job_id, :lane, priority, available_at, scheduled_at, due_at, expires_at, :revision, trigger, missed, 0, :concurrency_key
    from wanted
    where (:overlap::smallint <> 0 or chained) and place = 0
    on conflict (job_id, slot) where slot is not null do nothing
    returning scheduled_at
),
chain as (
    insert into sexton.runs
        (job_id, lane, priority, available_at, not_before, scheduled_at, due_at, expires_at, revision, trigger, missed, slot,
         concurrency_key)
    select :job_id, :lane, priority, 'infinity', available_at, scheduled_at, due_at, expires_at, :revision, trigger, missed,
           coalesce(last.slot + 1, -2000000000) + place, :concurrency_key
    from wanted
    cross join (select max(run.slot) as slot from sexton.runs as run where run.job_id = :job_id and run.slot < 0) as last
    where chained and scheduled_at not in (select scheduled_at from live)
),
queued as (
    insert into sexton.runs
        (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, trigger, missed, slot,
         concurrency_key)
    select :job_id, :lane, priority, 'infinity', scheduled_at, due_at, expires_at, :revision, trigger, missed, 1, :concurrency_key
    from wanted
    where :overlap::smallint in (2, 3) and not chained and scheduled_at not in (select scheduled_at from live)
    order by scheduled_at
    limit 1
    on conflict (job_id, slot) where slot is not null do nothing
    returning scheduled_at
),
stopping as (
    update sexton.runs
    set cancel_requested_at = :now, cancel_reason = 'the next occurrence is due'
    where :overlap::smallint = 3 and job_id = :job_id and slot = 0 and cancel_requested_at is null
      and trigger <> 'catch_up' and exists (select from wanted where scheduled_at not in (select scheduled_at from live))
),
overlapped as (
    insert into sexton.history (job_id, scheduled_at, status, reason, trigger, revision)
    select :job_id, scheduled_at, 'skipped', 'overlap', trigger, :revision
    from wanted
    where :overlap::smallint <> 0 and not chained
      and scheduled_at not in (select scheduled_at from live) and scheduled_at not in (select scheduled_at from queued)
),
skipped as (
    insert into sexton.history (job_id, scheduled_at, until_at, occurrences, status, reason, revision)
    select :job_id, scheduled_at, until_at, occurrences, 'skipped', reason, :revision
    from unnest(:skipped::timestamptz[], :skipped_until::timestamptz[], :skipped_occurrences::integer[], :skip_reasons::text[])
         as s (scheduled_at, until_at, occurrences, reason)
)
select (select pg_notify('sexton_runs', :lane::integer::text) from wanted having count(*) > 0) is not null as fired
