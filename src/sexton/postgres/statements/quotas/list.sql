-- The quotas of the first namespaces that have some, with an upper bound of the use of those that are metered.
select space.name, space.jobs, space.live_runs, space.firings_per_second, space.payload_bytes, space.history_days,
    space.campaign_sends_per_day,
    case when jobs.counted_at > '-infinity' then jobs.counted + jobs.taken - jobs.counted_taken end as jobs_used,
    case when runs.counted_at > '-infinity' and space.live_runs is not null
        then runs.counted + runs.taken - runs.counted_taken end as live_runs_used
from sexton.namespaces as space
left join sexton.meters as jobs on jobs.namespace = space.name and jobs.kind = 'jobs'
left join sexton.meters as runs on runs.namespace = space.name and runs.kind = 'runs'
where coalesce(
    space.jobs, space.live_runs, space.firings_per_second, space.payload_bytes, space.history_days, space.campaign_sends_per_day
) is not null
order by space.name
limit :limit
