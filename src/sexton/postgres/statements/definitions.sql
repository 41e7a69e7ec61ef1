-- Jobs as they were at some revisions: $1 jobs, $2 revisions
select wanted.job_id, wanted.revision, coalesce(kept.definition, to_jsonb(job))::text as definition
from unnest($1::bigint[], $2::integer[]) as wanted (job_id, revision)
join sexton.jobs as job on job.id = wanted.job_id
left join sexton.job_revisions as kept on kept.job_id = wanted.job_id and kept.revision = wanted.revision
