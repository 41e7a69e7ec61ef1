-- Count runs that a node had claimed before their queue had limits.
update sexton.runs as run
set limited_by = queue.id
from (select id from unnest(:runs::bigint[]) as mine (id) order by id) as mine, sexton.lanes as lane, sexton.queues as queue
where run.id = mine.id
    and run.node = :node
    and run.state = 'running'
    and run.limited_by is null
    and lane.id = run.lane
    and queue.namespace = lane.namespace
    and queue.name = lane.queue
