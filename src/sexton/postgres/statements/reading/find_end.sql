-- How a run of a namespace ended, under which claim, and when it was fired. The namespace is null if the caller has the run's token.
select history.status, history.claim, history.fired_at
from sexton.history as history
join sexton.jobs as job on job.id = history.job_id
where history.run_id = :run_id and (:namespace::text is null or job.namespace = :namespace)
order by history.recorded_at desc
limit 1
