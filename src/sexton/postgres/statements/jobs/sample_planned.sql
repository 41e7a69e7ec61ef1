-- As count_planned, for a sample of the timers: :percent of the table's blocks, always the same ones.
select timer.timing_key, timer.scheduled_at,
    case when timer.max_runs - timer.fired_count <= :most::int then timer.max_runs - timer.fired_count end as runs_left,
    count(*) as jobs, min(timer.job_id) as sample
from sexton.timers as timer tablesample system (:percent::float4) repeatable (0)
where timer.due_at < :end
    and timer.lane = any (array(
        select id from sexton.lanes where namespace = :namespace and target <> all (:others::text[])
    ))
group by 1, 2, 3
