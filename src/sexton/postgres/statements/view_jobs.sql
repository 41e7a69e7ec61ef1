-- Jobs as they are shown: the definition, the place, how the last run ended. What ran last is looked up in the history,
-- newest partition first, since firing never touches the job's row. $1 jobs
select job.*, timer.scheduled_at as next_at, live.claimed_at as live_at, run.started_at as last_run_at,
       latest.status as last_outcome
from sexton.jobs as job
left join sexton.timers as timer on timer.job_id = job.id
left join lateral (
    select max(r.claimed_at) as claimed_at from sexton.runs as r where r.job_id = job.id
) as live on true
left join lateral (
    select h.status from sexton.history as h where h.job_id = job.id order by h.recorded_at desc limit 1
) as latest on true
left join lateral (
    select coalesce(h.started_at, h.finished_at) as started_at
    from sexton.history as h
    where h.job_id = job.id and h.run_id is not null and h.started_at is not null
    order by h.recorded_at desc
    limit 1
) as run on true
where job.id = any($1::bigint[])
