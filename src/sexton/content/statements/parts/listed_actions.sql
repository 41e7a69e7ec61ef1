-- The filters of a list of single actions or of series that an index may serve; one that is null does not count. Expects a row `plan` of
-- content_schedules, and a condition before it.
        and plan.namespace = :namespace
        and (:end::timestamptz is null or plan.scheduled_at < :end)
        and (:entity_type::text is null or plan.entity_type = :entity_type)
        and (:entity_id::text is null or plan.entity_id = :entity_id)
        and (:created_by::text is null or plan.created_by = :created_by)
