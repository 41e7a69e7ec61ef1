-- The same in the order in which they fire next, after a job with this time (null: it is paused) and id; for filters that leave few.
-- Paused ones come last; those that fire no more are left out.
select id, coalesce(octet_length(payload::text), 0) + coalesce(octet_length(target::text), 0) as bytes,
       nullif(timer.due_at, 'infinity') as due_at
from sexton.timers as timer
join sexton.jobs on jobs.id = timer.job_id
where (timer.due_at, timer.job_id) > (coalesce(:due_at::timestamptz, 'infinity'), :after::bigint)
-- include: job_filter
order by timer.due_at, timer.job_id
limit :limit
