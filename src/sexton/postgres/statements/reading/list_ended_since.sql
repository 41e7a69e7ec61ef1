-- Ended runs of some namespaces that were recorded after :since, from the first :most rows.
select h.run_id, h.job_id, job.namespace, h.status
from sexton.history as h
join sexton.jobs as job on job.id = h.job_id
where h.recorded_at > :since and job.namespace = any (:namespaces::text[])
limit :most
