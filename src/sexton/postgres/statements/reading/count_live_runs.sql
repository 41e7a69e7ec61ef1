-- Live runs of a namespace by state and queue, of the first :most of them; how many of them could start now, and since when the
-- one that waits longest could.
select run.state, lane.queue, count(*) as runs,
    count(*) filter (where run.state in ('pending', 'failed') and run.available_at <= moment.now) as ready,
    min(run.available_at) filter (where run.state in ('pending', 'failed') and run.available_at <= moment.now) as oldest_available_at
from (
    select state, lane, available_at from sexton.runs
    where lane = any (array(select id from sexton.lanes where namespace = :namespace))
    limit :most
) as run
join sexton.lanes as lane on lane.id = run.lane
cross join (select coalesce(:now::timestamptz, clock_timestamp()) as now) as moment
group by run.state, lane.queue
