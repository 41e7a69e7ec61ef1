-- What a job was before an edit; runs that have started keep to it. $1 job, $2 now
insert into sexton.job_revisions (job_id, revision, definition, valid_until)
select job.id, job.revision, to_jsonb(job), $2 from sexton.jobs as job where job.id = $1
