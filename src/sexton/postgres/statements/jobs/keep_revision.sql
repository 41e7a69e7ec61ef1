-- Keep what jobs were before an edit; runs that have started use it.
insert into sexton.job_revisions (job_id, revision, definition, valid_until)
select job.id, job.revision, to_jsonb(job), :now from sexton.jobs as job where job.id = any(:job_ids::bigint[])
