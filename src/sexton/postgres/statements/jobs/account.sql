-- Record what was decided about occurrences of jobs: runs, as their overlap allows, and skipped occurrences. The caller has
-- locked the rows of the jobs and their timers, and moves the timers in the same transaction. Missed occurrences run one after
-- another if :chained, as in firing/catch_up.
-- Jobs: :jobs, and for each :revisions, :lanes, :overlaps, :chained, :expires_seconds, :concurrency_keys. Runs: :run_jobs, and for
-- each :scheduled, :due, :triggers, :missed, :available, :priorities. Skips: :skip_jobs, and for each :skipped, :skipped_until,
-- :skipped_occurrences, :skip_reasons.
with job as materialized (
    select *
    from unnest(
        :jobs::bigint[], :revisions::integer[], :lanes::integer[], :overlaps::smallint[], :chained::boolean[],
        :expires_seconds::integer[], :concurrency_keys::text[]
    ) as j (job_id, revision, lane, overlap, chained, expires_seconds, concurrency_key)
),
wanted as materialized (
    select job.job_id, job.revision, job.lane, job.overlap, job.concurrency_key,
           r.scheduled_at, r.due_at, r.trigger, r.missed, r.available_at, r.priority,
           r.due_at + job.expires_seconds * interval '1 second' as expires_at,
           row_number() over (partition by job.job_id order by r.scheduled_at) - 1 as place,
           job.chained and (job.overlap <> 0 or r.trigger = 'catch_up') as chained
    from unnest(
        :run_jobs::bigint[], :scheduled::timestamptz[], :due::timestamptz[], :triggers::text[], :missed::boolean[],
        :available::timestamptz[], :priorities::smallint[]
    ) as r (job_id, scheduled_at, due_at, trigger, missed, available_at, priority)
    join job on job.job_id = r.job_id
),
-- include: entered
stopping as (
    -- As in fire_special.
    update sexton.runs as run
    set cancel_requested_at = :now, cancel_reason = 'the next occurrence is due'
    where run.id = any (array(
        select running.id
        from wanted
        join sexton.runs as running on running.job_id = wanted.job_id and running.slot = 0
            and running.cancel_requested_at is null and running.trigger <> 'catch_up'
        where wanted.overlap = 3
          and (wanted.job_id, wanted.scheduled_at) not in (select job_id, scheduled_at from live)
        for update of running skip locked
    ))
    returning 1
),
skipped as (
    insert into sexton.history (job_id, scheduled_at, until_at, occurrences, status, reason, revision)
    select job.job_id, s.scheduled_at, s.until_at, s.occurrences, 'skipped', s.reason, job.revision
    from unnest(:skip_jobs::bigint[], :skipped::timestamptz[], :skipped_until::timestamptz[], :skipped_occurrences::integer[],
                :skip_reasons::text[])
         as s (job_id, scheduled_at, until_at, occurrences, reason)
    join job on job.job_id = s.job_id
)
select (select pg_notify('sexton_runs', min(lane)::text) from wanted having count(*) > 0),
       (select pg_notify('sexton_cancels', '') where exists (select from stopping))
