-- The timers of a namespace in some shards that are due before :end, in groups that fire alike; without the kinds of target that belong to a product.
select timer.timing_key, timer.scheduled_at,
    case when timer.max_runs - timer.fired_count <= :most::int then timer.max_runs - timer.fired_count end as runs_left,
    count(*) as jobs, min(timer.job_id) as sample
from sexton.timers as timer
where timer.shard = any (:shards::smallint[]) and timer.due_at < :end
    and timer.lane = any (array(
        select id from sexton.lanes where namespace = :namespace and target <> all (:others::text[])
    ))
group by 1, 2, 3
