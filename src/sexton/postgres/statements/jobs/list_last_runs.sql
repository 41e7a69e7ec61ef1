-- How each job's latest occurrence ended, and when it ran last, as recorded in a window: firing never touches the job's
-- row. The window keeps partitions out of the plan; planning for all of them costs more than the answer (15 ms).
select wanted.id, latest.status as last_outcome, run.started_at as last_run_at,
       case when latest.trigger in ('schedule', 'catch_up') and latest.run_id is not null then latest.recorded_at end as last_end_at
from unnest(:job_ids::bigint[]) as wanted (id)
cross join lateral (
    select h.status, h.recorded_at, h.run_id, h.trigger
    from sexton.history as h
    where h.job_id = wanted.id and h.recorded_at >= :start and h.recorded_at < :until
    order by h.recorded_at desc
    limit 1
) as latest
left join lateral (
    select h.started_at
    from sexton.history as h
    where h.job_id = wanted.id and h.recorded_at >= :start and h.recorded_at < :until and h.started_at is not null
    order by h.recorded_at desc
    limit 1
) as run on true
