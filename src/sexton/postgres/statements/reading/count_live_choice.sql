-- Live runs by state, of the first :limit that a filter means.
select counted.state as status, count(*) as runs
from (
    select r.state
    from sexton.runs r
    join sexton.jobs j on j.id = r.job_id
    left join sexton.nodes n on n.id = r.node
    where j.namespace = :namespace and (:job_id::bigint is null or r.job_id = :job_id)
-- include: live_choice
    limit :limit
) as counted
group by counted.state
