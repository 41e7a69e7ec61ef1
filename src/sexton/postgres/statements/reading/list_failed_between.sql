-- The latest runs of a namespace that were due in a range and died or expired within a day after it, by the index of runs that are no success of a schedule.
select h.run_id, h.job_id, h.status, h.scheduled_at, h.reason, h.occurrences, h.fired_at, job.name, job.timezone, job.kind, job.schedule
from sexton.history as h
join sexton.jobs as job on job.id = h.job_id
where h.scheduled_at >= :start and h.scheduled_at < :end
    and h.recorded_at >= :start and h.recorded_at < :end::timestamptz + interval '1 day' and h.status <> 'success'
    and h.status in ('dead', 'expired') and job.namespace = :namespace and not job.target ?| :others::text[]
order by h.recorded_at desc
limit :most
