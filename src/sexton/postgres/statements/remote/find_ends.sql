-- How runs of a namespace ended, under which claim, and when they were fired. The search begins when the first of them was fired.
select distinct on (history.run_id) history.run_id, history.status, history.claim, history.fired_at
from sexton.history as history
join sexton.jobs as job on job.id = history.job_id and job.namespace = :namespace
where history.run_id = any (:runs::bigint[]) and history.recorded_at >= :since::timestamptz
order by history.run_id, history.recorded_at desc
