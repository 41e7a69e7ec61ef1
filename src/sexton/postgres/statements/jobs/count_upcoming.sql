-- The timers of some shards that fall due up to :until, in groups that fire alike: one schedule, one occurrence, one minute in which it is due.
-- A job with only few runs left is a group of its own. `sample` is a job of the group.
select lane.namespace, timer.timing_key, timer.scheduled_at, date_trunc('minute', timer.due_at) as minute,
    case when timer.max_runs - timer.fired_count <= :most::int then timer.max_runs - timer.fired_count end as runs_left,
    count(*) as jobs, min(timer.job_id) as sample
from sexton.timers as timer
join sexton.lanes as lane on lane.id = timer.lane
where timer.shard = any (:shards::smallint[]) and timer.due_at < :until
group by 1, 2, 3, 4, 5
