-- Ended runs and skipped occurrences by status, of the first :limit that match a filter; :unusual: the filter matches no success of a schedule.
select counted.status, count(*) as runs
from (
    select h.status
    from sexton.history h
    join sexton.jobs j on j.id = h.job_id
    left join sexton.nodes n on n.id = h.node
    where j.namespace = :namespace and (:job_id::bigint is null or h.job_id = :job_id)
        and h.recorded_at >= :first and h.recorded_at < :last
        and (not :unusual::boolean or h.status <> 'success' or h.trigger <> 'schedule')
-- include: ended_choice
    limit :limit
) as counted
group by counted.status
