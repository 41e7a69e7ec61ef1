-- Queues of a namespace whose names have a beginning, and whether they are paused.
select named.name, bool_or(queue.paused_at is not null) as paused
-- include: named_queues
where named.name like :pattern
group by named.name
order by named.name
limit :limit
