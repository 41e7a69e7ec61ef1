-- What became of these jobs that were due in a range, if it was recorded within a day after the range, the latest first.
select h.run_id, h.job_id, h.status, h.scheduled_at, h.reason, h.occurrences, h.fired_at, job.name, job.timezone, job.kind, job.schedule
from unnest(:jobs::bigint[]) as wanted (id)
join sexton.jobs as job on job.id = wanted.id
cross join lateral (
    select *
    from sexton.history as ended
    where ended.job_id = wanted.id and ended.scheduled_at >= :start and ended.scheduled_at < :end
        and ended.recorded_at >= :start and ended.recorded_at < :end::timestamptz + interval '1 day'
    order by ended.recorded_at desc
    limit :most
) as h
