-- Expects `wanted`: runs of jobs, each with its place among those of its job. A run is inserted as the overlap of its job allows: at once, one after
-- another (chained), or as the next one. The others are recorded as skipped. Gives `live` and `queued`.
free as (
    insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, trigger, missed,
                             concurrency_key)
    select job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, trigger, missed, concurrency_key
    from wanted
    where overlap = 0 and not chained
    order by job_id, place
),
live as (
    insert into sexton.runs
        (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, trigger, missed, slot,
         concurrency_key)
    select job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, trigger, missed, 0, concurrency_key
    from wanted
    where (overlap <> 0 or chained) and place = 0
    order by job_id
    on conflict (job_id, slot) where slot is not null do nothing
    returning job_id, scheduled_at
),
chain as (
    insert into sexton.runs
        (job_id, lane, priority, available_at, not_before, scheduled_at, due_at, expires_at, revision, trigger, missed, slot,
         concurrency_key)
    select wanted.job_id, lane, priority, 'infinity'::timestamptz, available_at, scheduled_at, due_at, expires_at, revision,
           trigger, missed, coalesce(last.slot + 1, -2000000000) + place, concurrency_key
    from wanted
    cross join lateral (
        select max(run.slot) as slot from sexton.runs as run where run.job_id = wanted.job_id and run.slot < 0
    ) as last
    where chained and (wanted.job_id, scheduled_at) not in (select job_id, scheduled_at from live)
    order by wanted.job_id, place
),
queued as (
    insert into sexton.runs
        (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision, trigger, missed, slot,
         concurrency_key)
    select distinct on (job_id) job_id, lane, priority, 'infinity'::timestamptz, scheduled_at, due_at, expires_at, revision,
           trigger, missed, 1, concurrency_key
    from wanted
    where overlap in (2, 3) and not chained and (job_id, scheduled_at) not in (select job_id, scheduled_at from live)
    order by job_id, scheduled_at
    on conflict (job_id, slot) where slot is not null do nothing
    returning job_id, scheduled_at
),
overlapped as (
    insert into sexton.history (job_id, scheduled_at, status, reason, trigger, revision)
    select job_id, scheduled_at, 'skipped', 'overlap', trigger, revision
    from wanted
    where overlap <> 0 and not chained
      and (job_id, scheduled_at) not in (select job_id, scheduled_at from live)
      and (job_id, scheduled_at) not in (select job_id, scheduled_at from queued)
),
