select id
from sexton.content_schedules
where namespace = :namespace and id > :after
    and (:entity_type::text is null or entity_type = :entity_type)
    and (:entity_id::text is null or entity_id = :entity_id)
    and (:created_by::text is null or created_by = :created_by)
    and (:adapter::text is null or adapter = :adapter)
    and (:action::text is null or action = :action)
    and (:start::timestamptz is null or scheduled_at >= :start)
    and (:end::timestamptz is null or scheduled_at <= :end)
order by id
limit :limit
