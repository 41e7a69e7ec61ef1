-- Jobs of a namespace (or of :jobs) that are due before :end, with the columns that their times are computed from; without the kinds of target that belong to a product.
select job.id, job.name, job.kind, job.schedule, job.timezone, job.anchor, job.options, job.moved, job.timing_key, job.status, job.revision,
    timer.scheduled_at, timer.due_at, case when timer.max_runs is not null then timer.max_runs - timer.fired_count end as runs_left
from (
    select timer.job_id, timer.scheduled_at, timer.due_at, timer.max_runs, timer.fired_count
    from sexton.timers as timer
    where timer.shard = any (array(select id from sexton.shards)) and timer.due_at < :end
        and timer.lane = any (array(
            select id from sexton.lanes where namespace = :namespace and target <> all (:others::text[])
        ))
        and (:jobs::bigint[] is null or timer.job_id = any (:jobs))
    limit :most
) as timer
join sexton.jobs as job on job.id = timer.job_id
