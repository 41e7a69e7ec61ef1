-- Lock the queues of these lanes until the transaction ends, so that no other worker claims from them: the first
-- statement of a claim under limits. A later statement counts the running runs: this one may have waited, and sees
-- the runs as they were before the wait. It does not wait for long: the process that has locked a queue may be stopped.
with patience as materialized (select set_config('lock_timeout', '500ms', true))
select queue.id
from patience
cross join sexton.queues as queue
where queue.id = any (array(
    select limited.id
    from unnest(:lanes::integer[]) as served (lane)
    join sexton.lanes as lane on lane.id = served.lane
    join sexton.queues as limited on limited.namespace = lane.namespace and limited.name = lane.queue
))
order by queue.id
for no key update of queue
