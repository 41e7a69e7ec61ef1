-- Where an entity lives, according to its latest :look plans; that of the latest plan first.
select adapter
from (
    select id, adapter
    from sexton.content_schedules
    where namespace = :namespace and entity_type = :entity_type and entity_id = :entity_id
    order by scheduled_at desc
    limit :look
) as plan
group by adapter
order by max(id) desc
limit :limit
