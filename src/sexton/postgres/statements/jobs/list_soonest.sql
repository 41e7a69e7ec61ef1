-- As list_by_next_run, from a time (null: infinity, when paused jobs are due) and an id on, among the first timers of each
-- shard: about `rows` of them, by the index timers_due, which does not order jobs that are due at one instant. Where a shard
-- has more such jobs than are read, they come from the timers in the order of their jobs, of which `walk` are read.
-- Returns the page; how many timers were `seen`, whatever the filter; whether there may be more after them; `cut_at` (null:
-- infinity), the last instant that was read; `walked_to`, the last job of that instant that was read (null: all of them).
with depth as materialized (
    select greatest(10, :rows::bigint / count(*)) as rows from sexton.shards
),
heads as materialized (
    select shard.id as shard, head.due_at, head.job_id
    from sexton.shards as shard
    cross join lateral (
        select timer.due_at, timer.job_id
        from sexton.timers as timer
        where timer.shard = shard.id and timer.due_at >= coalesce(:due_at::timestamptz, 'infinity')
        order by timer.due_at
        limit (select rows from depth)
    ) as head
),
-- Before this instant nothing is missing.
cut as materialized (
    select min(last_at) as at
    from (select max(due_at) as last_at from heads group by shard having count(*) = (select rows from depth)) as full_shard
),
early as materialized (
    select heads.due_at, heads.job_id
    from heads, cut
    where (heads.due_at, heads.job_id) > (coalesce(:due_at, 'infinity'), :after::bigint) and (cut.at is null or heads.due_at < cut.at)
),
first as materialized (
    select job.id, job.bytes, early.due_at
    from (select * from early order by due_at, job_id) as early
    -- Job by job, until the page is full: a generic plan may read all jobs once, to join them.
    cross join lateral (
        select jobs.id, coalesce(octet_length(payload::text), 0) + coalesce(octet_length(target::text), 0) as bytes
        from sexton.jobs
        where jobs.id = early.job_id
-- include: job_filter
        offset 0
    ) as job
    order by early.due_at, early.job_id
    limit :limit
),
walked as materialized (
    select timer.job_id, timer.due_at
    from sexton.timers as timer
    where timer.job_id > (select case when at = coalesce(:due_at, 'infinity') then :after else 0 end from cut)
        and (select at is not null from cut) and (select count(*) from first) < :limit
    order by timer.job_id
    limit :walk
),
herd as (
    select job.id, job.bytes, tied.due_at
    from (select * from walked where due_at = (select at from cut) order by job_id) as tied
    cross join lateral (
        select jobs.id, coalesce(octet_length(payload::text), 0) + coalesce(octet_length(target::text), 0) as bytes
        from sexton.jobs
        where jobs.id = tied.job_id
-- include: job_filter
        offset 0
    ) as job
    order by tied.job_id
    limit :limit
)
select page.id, page.bytes, nullif(page.due_at, 'infinity') as due_at,
    (select count(*) from early) + (select count(*) from walked, cut where walked.due_at = cut.at) as seen,
    cut.at is not null as more, nullif(cut.at, 'infinity') as cut_at,
    (select case when count(*) = :walk then max(job_id) end from walked) as walked_to
from cut
left join (
    select * from first union all select * from herd
) as page on true
order by page.due_at, page.id
limit :limit
