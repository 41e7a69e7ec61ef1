-- The action is done up to this occurrence; a change of the entity is recorded.
with done as (
    update sexton.content_schedules
    set done_at = greatest(done_at, :scheduled_at), begun_at = :scheduled_at, begun_run = :run_id
    where id = :schedule_id
)
insert into sexton.content_changes (
    namespace, entity_type, entity_id, at, action, state_before, state_after, version, schedule_id, run_id, actor
)
select :namespace, :entity_type, :entity_id, clock_timestamp(), :action, :state_before, :state_after, :version,
       :schedule_id, :run_id, :actor
where :changed
