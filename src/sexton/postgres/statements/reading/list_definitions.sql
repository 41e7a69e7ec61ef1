-- The definitions of jobs at some revisions; :jobs and :revisions belong together.
select wanted.job_id, wanted.revision, coalesce(kept.definition, to_jsonb(job))::text as definition
from unnest(:jobs::bigint[], :revisions::integer[]) as wanted (job_id, revision)
join sexton.jobs as job on job.id = wanted.job_id
left join sexton.job_revisions as kept on kept.job_id = wanted.job_id and kept.revision = wanted.revision
