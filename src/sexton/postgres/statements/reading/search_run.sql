-- A run by its id: live, dead or otherwise ended.
select found.status, found.dead, job.name as job_name
from (
    select run.job_id, run.state as status, false as dead from sexton.runs as run where run.id = :run_id
    union all
    select ended.job_id, ended.status, exists (select from sexton.dead as letter where letter.run_id = :run_id)
    from sexton.history as ended
    where ended.run_id = :run_id
) as found
join sexton.jobs as job on job.id = found.job_id
where job.namespace = :namespace
limit 1
