-- Catch up in one transaction. A timer moves into the future only if it is unchanged since it was planned; only then its
-- missed runs are inserted, with the lowest priority and spread over time, and its skips are recorded. If all missed
-- occurrences run (:run_chained), they run one after another, whatever the overlap says. The run that is due now joins them,
-- unless runs of the job may overlap. The quotas of the namespaces apply as in firing/fire_metered.
-- Timers: :jobs, and for each :revisions, :scheduled, :due, :next_scheduled (null: it ends), :next_due, :run_counts.
-- Runs: :run_jobs, and for each :run_scheduled, :run_due, :run_triggers, :run_missed, :run_available, :run_priorities
-- (null: the job's), :run_chained. Skips: :skip_jobs, and for each :skip_scheduled, :skip_until, :skip_occurrences,
-- :skip_reasons.
-- :node is the node that fires, for the audit.
with
-- include: fence
moment as materialized (select clock_timestamp() as now),
due as materialized (
    -- One for each run.
    select r.job_id, lane.namespace
    from unnest(:run_jobs::bigint[]) as r (job_id)
    join sexton.timers t on t.job_id = r.job_id
    join sexton.lanes lane on lane.id = t.lane
),
-- include: meters
batch as materialized (
    select b.*
    from unnest(:jobs::bigint[], :revisions::integer[], :scheduled::timestamptz[], :due::timestamptz[],
                :next_scheduled::timestamptz[], :next_due::timestamptz[], :run_counts::integer[])
         as b (job_id, revision, scheduled_at, due_at, next_at, next_due_at, runs), fence
    where fence.held
      and b.job_id not in (select due.job_id from due where due.namespace in (select waiting.namespace from waiting))
),
ending as materialized (
    -- Jobs before timers, as edits lock them.
    select j.id from batch b join sexton.jobs j on j.id = b.job_id where b.next_at is null order by j.id for no key update of j
),
moved as (
    update sexton.timers t
    set scheduled_at = b.next_at, due_at = b.next_due_at, fired_count = t.fired_count + b.runs
    from batch b
    where (select count(*) from ending) >= 0 and t.job_id = b.job_id and t.scheduled_at = b.scheduled_at and t.due_at = b.due_at and t.revision = b.revision
      and b.next_at is not null
    returning t.job_id, t.revision, t.lane, t.priority, t.overlap, t.expires_seconds, t.concurrency_key
),
ended as (
    delete from sexton.timers t
    using batch b
    where (select count(*) from ending) >= 0 and t.job_id = b.job_id and t.scheduled_at = b.scheduled_at
      and t.due_at = b.due_at and t.revision = b.revision
      and b.next_at is null
    returning t.job_id, t.revision, t.lane, t.priority, t.overlap, t.expires_seconds, t.concurrency_key
),
completed as (
    update sexton.jobs j set status = 'completed', completed_at = clock_timestamp() from ended e where j.id = e.job_id
),
held as materialized (
    select * from moved
    union all
    select * from ended
),
admitted as materialized (
    -- The oldest first, so that the refused runs of each job are its last ones.
    select placed.*, coalesce(placed.turn > placed.room, false) as refused,
        greatest(
            placed.starts_at, placed.next_at + (placed.turn / placed.rate - placed.second) * interval '1 second'
        ) as available_at
    from (
        select h.job_id, h.revision, h.lane, coalesce(r.priority, h.priority) as priority, h.overlap, h.concurrency_key,
               r.scheduled_at, r.due_at, r.trigger, r.missed, r.available_at as starts_at,
               r.due_at + h.expires_seconds * interval '1 second' as expires_at,
               r.chained and (h.overlap <> 0 or r.trigger = 'catch_up') as chained,
               meters.namespace, meters.room, meters.rate, meters.second, meters.next_at,
               row_number() over (partition by meters.namespace order by r.scheduled_at, h.job_id) as turn
        from unnest(:run_jobs::bigint[], :run_scheduled::timestamptz[], :run_due::timestamptz[], :run_triggers::text[],
                    :run_missed::boolean[], :run_available::timestamptz[], :run_priorities::smallint[],
                    :run_chained::boolean[])
             as r (job_id, scheduled_at, due_at, trigger, missed, available_at, priority, chained)
        join held h on h.job_id = r.job_id
        join sexton.lanes lane on lane.id = h.lane
        left join meters on meters.namespace = lane.namespace
    ) as placed
),
-- include: charged
wanted as materialized (
    select admitted.*, row_number() over (partition by job_id order by scheduled_at) - 1 as place
    from admitted
    where not refused
),
refused as (
    insert into sexton.history (job_id, scheduled_at, status, reason, trigger, revision)
    select job_id, scheduled_at, 'skipped', 'quota', trigger, revision from admitted where refused
),
-- include: entered
stopping as (
    -- As in fire_special.
    update sexton.runs r
    set cancel_requested_at = clock_timestamp(), cancel_reason = 'the next occurrence is due'
    where r.id = any (array(
        select running.id
        from wanted w
        join sexton.runs running on running.job_id = w.job_id and running.slot = 0 and running.cancel_requested_at is null
            and running.trigger <> 'catch_up'
        where w.overlap = 3 and (w.job_id, w.scheduled_at) not in (select job_id, scheduled_at from live)
        for update of running skip locked
    ))
    returning 1
),
skipped as (
    insert into sexton.history (job_id, scheduled_at, until_at, occurrences, status, reason, revision)
    select h.job_id, s.scheduled_at, s.until_at, s.occurrences, 'skipped', s.reason, h.revision
    from unnest(:skip_jobs::bigint[], :skip_scheduled::timestamptz[], :skip_until::timestamptz[],
                :skip_occurrences::integer[], :skip_reasons::text[])
         as s (job_id, scheduled_at, until_at, occurrences, reason)
    join held h on h.job_id = s.job_id
),
counted as materialized (
    select (select count(*) from held) as moved,
           (select count(*) from wanted where trigger = 'catch_up') as runs,
           (select coalesce(sum(s.occurrences), 0)
            from unnest(:skip_jobs::bigint[], :skip_occurrences::integer[]) as s (job_id, occurrences)
            join held h on h.job_id = s.job_id) as skipped
),
noted as (
    insert into sexton.audit_pending (namespace, actor, face, address, action, detail)
    select '*', 'sexton', 'sexton', :node, 'jobs.caught_up',
           json_build_object('jobs', moved, 'runs', runs, 'skipped', skipped)
    from counted
    where moved > 0
)
select fence.held, counted.moved, counted.runs, counted.skipped,
       (select count(*) from admitted where refused) as refused,
       array(select stale.namespace from stale) as stale,
       (select pg_notify('sexton_runs', '') where exists (select from wanted)),
       (select pg_notify('sexton_cancels', '') where exists (select from stopping))
from fence, counted
