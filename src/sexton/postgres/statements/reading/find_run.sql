-- Whether there is such a run in the namespace, live or ended.
select exists (
    select from sexton.runs as run
    join sexton.jobs as job on job.id = run.job_id
    where run.id = :run_id and job.namespace = :namespace
) or exists (
    select from sexton.history as ended
    join sexton.jobs as job on job.id = ended.job_id
    where ended.run_id = :run_id and job.namespace = :namespace
)
