-- What became of the jobs of a namespace that were due in a range, if it was recorded within a day after the range: the search ends there. Without the
-- kinds of target that belong to a product.
select h.run_id, h.job_id, h.status, h.scheduled_at, h.reason, h.occurrences, h.fired_at, job.name, job.timezone, job.kind, job.schedule
from sexton.history as h
join sexton.jobs as job on job.id = h.job_id
where h.scheduled_at >= :start and h.scheduled_at < :end
    and h.recorded_at >= :start and h.recorded_at < :end::timestamptz + interval '1 day'
    and job.namespace = :namespace and not job.target ?| :others::text[]
limit :most
