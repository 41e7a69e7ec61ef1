-- Put down what was decided about occurrences of one job: runs, as its overlap allows, and what was skipped. Its row and
-- its timer are locked by the caller, who moves the timer in the same transaction.
-- $1 job, $2 revision, $3 lane, $4 overlap, $5 expires; runs: $6 scheduled, $7 due, $8 trigger, $9 missed, $10 available,
-- $11 priority; skips: $12 scheduled, $13 until, $14 occurrences, $15 reason; $16 now; $17 concurrency key.
with wanted as materialized (
    select r.*, r.due_at + $5::integer * interval '1 second' as expires_at,
           row_number() over (order by r.scheduled_at) - 1 as place
    from unnest($6::timestamptz[], $7::timestamptz[], $8::text[], $9::boolean[], $10::timestamptz[], $11::smallint[])
         as r (scheduled_at, due_at, trigger, missed, available_at, priority)
),
free as (
    insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, trigger, missed,
                             concurrency_key)
    select $1, $3, priority, available_at, scheduled_at, due_at, expires_at, $2, trigger, missed, $17
    from wanted
    where $4::smallint = 0
),
live as (
    insert into sexton.runs
        (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, trigger, missed, slot,
         concurrency_key)
    select $1, $3, priority, available_at, scheduled_at, due_at, expires_at, $2, trigger, missed, 0, $17
    from wanted
    where $4::smallint <> 0 and place = 0
    on conflict (job_id, slot) where slot is not null do nothing
    returning scheduled_at
),
queued as (
    insert into sexton.runs
        (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, trigger, missed, slot,
         concurrency_key)
    select $1, $3, priority, 'infinity', scheduled_at, due_at, expires_at, $2, trigger, missed, 1, $17
    from wanted
    where $4::smallint in (2, 3) and scheduled_at not in (select scheduled_at from live)
    order by scheduled_at
    limit 1
    on conflict (job_id, slot) where slot is not null do nothing
    returning scheduled_at
),
stopping as (
    update sexton.runs
    set cancel_requested_at = $16, cancel_reason = 'the next occurrence is due'
    where $4::smallint = 3 and job_id = $1 and slot = 0 and cancel_requested_at is null
      and exists (select from wanted where scheduled_at not in (select scheduled_at from live))
),
overlapped as (
    insert into sexton.history (job_id, scheduled_at, status, reason, trigger, revision)
    select $1, scheduled_at, 'skipped', 'overlap', trigger, $2
    from wanted
    where $4::smallint <> 0
      and scheduled_at not in (select scheduled_at from live) and scheduled_at not in (select scheduled_at from queued)
),
skipped as (
    insert into sexton.history (job_id, scheduled_at, until_at, occurrences, status, reason, revision)
    select $1, scheduled_at, until_at, occurrences, 'skipped', reason, $2
    from unnest($12::timestamptz[], $13::timestamptz[], $14::integer[], $15::text[])
         as s (scheduled_at, until_at, occurrences, reason)
)
select (select pg_notify('sexton_runs', $3::integer::text) from wanted having count(*) > 0) is not null as fired
