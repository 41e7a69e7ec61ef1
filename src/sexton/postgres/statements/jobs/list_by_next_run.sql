-- As list, in the order in which the jobs fire next, after a job with this time (null: it is paused) and id; for filters that match few.
-- Paused jobs come last; jobs that no longer fire are left out. `meant` is how many jobs match: a search for words is expensive,
-- so it is done once.
with meant as materialized (
    select jobs.id, coalesce(octet_length(payload::text), 0) + coalesce(octet_length(target::text), 0) as bytes
    from sexton.jobs
    where true
-- include: job_filter
)
select meant.id, meant.bytes, nullif(timer.due_at, 'infinity') as due_at, (select count(*) from meant) as meant
from meant
join sexton.timers as timer on timer.job_id = meant.id
where (timer.due_at, timer.job_id) > (coalesce(:due_at::timestamptz, 'infinity'), :after::bigint)
order by timer.due_at, timer.job_id
limit :limit
