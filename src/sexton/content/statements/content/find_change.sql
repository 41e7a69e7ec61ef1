select state_before, state_after, version from sexton.content_changes
where namespace = :namespace and entity_type = :entity_type and entity_id = :entity_id
    and schedule_id = :schedule_id and run_id = :run_id
order by id desc
limit 1
