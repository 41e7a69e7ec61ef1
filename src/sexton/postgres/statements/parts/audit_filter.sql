-- The filters of audit entries; a filter that is null does not apply. Expects entry, of audit_entries.
(:actor::text is null or entry.actor = :actor)
and (:action::text is null or entry.action = :action)
and (:action_begins::text is null or starts_with(entry.action, :action_begins))
and (:object::text is null or entry.object_id = :object or entry.object_name = :object)
and (:request_id::text is null or entry.request_id = :request_id)
and (:namespaces::text[] is null or entry.namespace = any (:namespaces))
