insert into sexton.content_changes (
    namespace, entity_type, entity_id, at, action, state_before, state_after, version, schedule_id, release_id, run_id,
    actor
)
select item.namespace, item.entity_type, item.entity_id, clock_timestamp(), :action, :state_before, :state_after, :version,
       item.id, item.release_id, :run_id, item.created_by
from sexton.content_schedules as item
where item.id = :schedule_id and item.namespace = :namespace
