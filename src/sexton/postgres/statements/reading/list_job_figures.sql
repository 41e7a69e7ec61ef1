-- How long the runs of a job took and how late they started since an instant, in intervals of equal length; of the latest :most runs.
select timestamptz 'epoch' + floor(extract(epoch from h.recorded_at) / :seconds::float8) * :seconds * interval '1 second' as at,
    count(*) as runs,
    count(*) filter (where h.status in ('dead', 'expired')) as failed,
    percentile_cont(array[0.5, 0.99]) within group (order by extract(epoch from h.finished_at - h.started_at) * 1000) as durations,
    percentile_cont(array[0.5, 0.99]) within group (
        order by greatest(0, extract(epoch from case when h.attempt > 1 then h.fired_at else h.started_at end - h.scheduled_at) - :jitter::float8) * 1000
    ) filter (where h.trigger = 'schedule' and not h.missed) as lates
from (
    select * from sexton.history
    where job_id = :job_id and recorded_at >= :since and run_id is not null
    order by recorded_at desc
    limit :most
) as h
group by 1
order by 1
