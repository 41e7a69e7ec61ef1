-- The filters of a list of actions; one that is null does not count. Expects a row `plan` of content_schedules, and a condition before it.
    and (:schedule_id::bigint is null or plan.id = :schedule_id)
    and (:entity_type::text is null or plan.entity_type = :entity_type)
    and (:entity_id::text is null or plan.entity_id = :entity_id)
    and (:created_by::text is null or plan.created_by = :created_by)
    and (:adapter::text is null or plan.adapter = :adapter)
