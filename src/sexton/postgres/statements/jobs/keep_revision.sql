-- Keep the definitions of jobs from before an edit; runs that have started use them.
insert into sexton.job_revisions (job_id, revision, definition, valid_until)
select job.id, job.revision, to_jsonb(job), :now from sexton.jobs as job where job.id = any(:job_ids::bigint[])
