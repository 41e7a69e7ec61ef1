-- Live runs by state, of the first :limit that match a filter. The namespace comes from the lane of a run: in a join with jobs, PostgreSQL may
-- choose to read a million of them.
select counted.state as status, count(*) as runs
from (
    select r.state
    from sexton.runs r
    left join sexton.nodes n on n.id = r.node
    where r.lane = any (array(select id from sexton.lanes where lanes.namespace = :namespace)) and (:job_id::bigint is null or r.job_id = :job_id)
-- include: live_choice
    limit :limit
) as counted
group by counted.state
