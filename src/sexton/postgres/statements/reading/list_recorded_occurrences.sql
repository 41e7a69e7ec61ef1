-- The records of a job's occurrences between :start and :end (both included), with counted ranges that reach into it.
-- Nothing is recorded before it is due, so the index of (job, recorded_at) bounds the search from below.
select h.run_id, h.scheduled_at, h.until_at, h.occurrences, h.status, h.reason, h.trigger, h.missed, h.attempt, h.error,
    h.fired_at, h.started_at, h.finished_at, h.revision
from sexton.history h
where h.job_id = :job_id
    and h.recorded_at >= :start::timestamptz - interval '1 minute'
    and h.scheduled_at <= :end
    and coalesce(h.until_at, h.scheduled_at) >= :start
    and coalesce(h.trigger, '') <> 'manual'
order by h.scheduled_at, h.run_id
limit :limit
