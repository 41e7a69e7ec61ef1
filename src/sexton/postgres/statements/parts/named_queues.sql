-- The names of the queues of a namespace that jobs have used or that have limits or a pause, as `named`, each with its row as `queue`, if it has one.
-- Expects :namespace.
from (
    select lane.queue as name from sexton.lanes as lane where lane.namespace = :namespace
    union
    select queue.name from sexton.queues as queue where queue.namespace = :namespace
) as named
left join sexton.queues as queue on queue.namespace = :namespace and queue.name = named.name
