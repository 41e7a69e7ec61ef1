-- Queues of a namespace whose names have a beginning, and whether they are paused.
select named.name, bool_or(queue.paused_at is not null) as paused
from (
    select lane.queue as name from sexton.lanes as lane where lane.namespace = :namespace
    union
    select queue.name from sexton.queues as queue where queue.namespace = :namespace
) as named
left join sexton.queues as queue on queue.namespace = :namespace and queue.name = named.name
where named.name like :pattern
group by named.name
order by named.name
limit :limit
