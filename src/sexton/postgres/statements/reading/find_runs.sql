-- Runs of a namespace by their ids, live or ended, with the payload if they have one of their own. If a run ends
-- meanwhile, one of its two rows is seen.
select distinct on (wanted.id)
    wanted.id as run_id, job.id as job_id, job.name as job_name, found.status, found.payload::text as payload
from unnest(:run_ids::bigint[]) as wanted (id)
cross join lateral (
    select run.job_id, run.state as status, run.payload, 0 as place
    from sexton.runs as run
    where run.id = wanted.id
    union all
    (
        select ended.job_id, ended.status, ended.payload, 1
        from sexton.history as ended
        where ended.run_id = wanted.id
        order by ended.recorded_at desc
        limit 1
    )
) as found
join sexton.jobs as job on job.id = found.job_id and job.namespace = :namespace
order by wanted.id, found.place
