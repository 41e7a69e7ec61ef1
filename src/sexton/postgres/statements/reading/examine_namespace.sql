-- What needs attention in a namespace: jobs that are set aside, the longest overdue timer, dead letters (all, and those of the last
-- ten minutes, counted up to :most), and paused queues.
with own as materialized (
    select array(select id from sexton.lanes where namespace = :namespace) as lanes,
           coalesce(:now::timestamptz, clock_timestamp()) as now
)
select own.now as at,
    (select count(*) from sexton.problems as problem
        join sexton.jobs as job on job.id = problem.job_id and job.revision = problem.revision
        where job.namespace = :namespace and job.status in ('active', 'paused')) as problems,
    (select min(first.due_at)
        from sexton.shards as shard
        cross join lateral (
            select due.due_at
            from (
                select timer.due_at, timer.lane from sexton.timers as timer
                where timer.shard = shard.id and timer.due_at < own.now
                order by timer.due_at
                limit 1000
            ) as due
            where due.lane = any (own.lanes)
            order by due.due_at
            limit 1
        ) as first) as oldest_due_at,
    (select count(*) from (
        select from sexton.dead as letter where letter.lane = any (own.lanes) limit :most
    ) as letters) as dead,
    (select count(*) from (
        select from sexton.dead as letter
        where letter.died_at > own.now - interval '10 minutes' and letter.lane = any (own.lanes)
        limit :most
    ) as letters) as dead_lately,
    array(select queue.name from sexton.queues as queue
        where queue.namespace = :namespace and queue.paused_at is not null
        order by queue.name limit 20) as paused_queues
from own
