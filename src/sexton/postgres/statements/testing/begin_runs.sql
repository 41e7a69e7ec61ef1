-- Write occurrences that a test engine has fired and given to its worker before it wrote anything: the rows that firing/fire
-- or firing/fire_special, and then claiming/claim, would have written at their time. The timers move behind the last ones, if
-- they are unchanged since the engine read them; returns how many did.
-- :jobs to :counts have one element per job, the others one per run. Of the runs of a job that must not overlap only that of
-- the present instant (:current) is live: the others have ended, and are recorded next.
with moved as (
    update sexton.timers as timer
    set scheduled_at = ahead.next_scheduled, due_at = ahead.next_due, fired_count = timer.fired_count + ahead.count
    from unnest(
        :jobs::bigint[], :revisions::integer[], :scheduled::timestamptz[], :due::timestamptz[],
        :next_scheduled::timestamptz[], :next_due::timestamptz[], :counts::integer[]
    ) as ahead (job_id, revision, scheduled_at, due_at, next_scheduled, next_due, count)
    where timer.job_id = ahead.job_id and timer.revision = ahead.revision
        and timer.scheduled_at = ahead.scheduled_at and timer.due_at = ahead.due_at
    returning timer.*
),
begun as (
    insert into sexton.runs (
        id, job_id, state, lane, priority, available_at, scheduled_at, due_at, fired_at, expires_at, revision, slot,
        attempt, claim, node, claimed_at, deadline_at, concurrency_key
    )
    select
        run.id, run.job_id, 'running', timer.lane, timer.priority, run.due_at, run.scheduled_at, run.due_at, run.due_at,
        run.due_at + timer.expires_seconds * interval '1 second', timer.revision,
        case when timer.overlap <> 0 and run.due_at = :current then 0 end,
        1, 1, :node, run.due_at,
        run.due_at + make_interval(
            secs => coalesce((job.options ->> 'timeout_seconds')::float8, :timeout_seconds::float8)),
        timer.concurrency_key
    from unnest(:runs::bigint[], :run_jobs::bigint[], :run_scheduled::timestamptz[], :run_due::timestamptz[])
        as run (id, job_id, scheduled_at, due_at)
    join moved as timer on timer.job_id = run.job_id
    join sexton.jobs as job on job.id = run.job_id
)
select count(*) from moved
