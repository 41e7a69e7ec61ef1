select plan.*,
-- include: entity_title
       as entity_title
from sexton.content_schedules as plan
where plan.release_id = any (:ids::bigint[]) and plan.namespace = :namespace
order by plan.release_id, plan.place
