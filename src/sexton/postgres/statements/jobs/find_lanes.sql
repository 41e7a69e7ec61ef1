-- Of the given lanes, those that a namespace has.
select lane.id, lane.queue, lane.target, lane.handler, lane.keyed
from unnest(:queues::text[], :targets::text[], :handlers::text[], :keyed::boolean[]) as wanted (queue, target, handler, keyed)
join sexton.lanes as lane using (queue, target, handler, keyed)
where lane.namespace = :namespace
