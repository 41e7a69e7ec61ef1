-- The state of a test engine: what can be done at this instant, and when something happens next.
-- `timers`: a job is due. `runs`: a run can be claimed from :lanes, all lanes that the worker serves, with those of queues
-- with limits. `sweep`: the sweeper would find something. `timer_at`: when the next job is due. `other_at`: when
-- something else happens next: a retry, an expiry, the end of a pause, the end of a wait for a report.
with moment as materialized (select clock_timestamp() as now)
select
    exists (select from sexton.timers where due_at <= moment.now) as timers,
    exists (
        select from sexton.runs
        where state in ('pending', 'failed') and available_at <= moment.now and lane = any (:lanes::integer[])
    ) as runs,
    exists (
        select from sexton.runs
        where state in ('pending', 'failed') and (expires_at <= moment.now or cancel_requested_at is not null)
    )
    or exists (
        select from sexton.runs
        where state = 'waiting' and (deadline_at <= moment.now or cancel_requested_at is not null)
    )
    or exists (
        select from sexton.runs as queued
        left join sexton.runs as live on live.job_id = queued.job_id and live.slot = 0
        join sexton.jobs as job on job.id = queued.job_id
        where queued.slot <> 0
            and (live.id is null or live.cancel_requested_at is null and job.options ->> 'overlap' = 'CANCEL_RUNNING')
    )
    or exists (select from sexton.jobs where status = 'paused' and paused_until <= moment.now) as sweep,
    (select min(due_at) from sexton.timers where due_at > moment.now and due_at < 'infinity') as timer_at,
    least(
        (
            select min(available_at) from sexton.runs
            where state in ('pending', 'failed') and available_at > moment.now and available_at < 'infinity'
        ),
        (select min(expires_at) from sexton.runs where expires_at > moment.now),
        (select min(deadline_at) from sexton.runs where state = 'waiting' and deadline_at > moment.now),
        (select min(paused_until) from sexton.jobs where status = 'paused' and paused_until > moment.now)
    ) as other_at
from moment
