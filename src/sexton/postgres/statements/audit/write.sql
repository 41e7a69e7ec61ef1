-- Write entries of the audit, in the transaction of the change that they record.
insert into sexton.audit_pending (
    at, namespace, actor, face, address, request_id, reason, action, object_id, object_name, job_id, jobs, before, after, detail
)
select
    coalesce(:now::timestamptz, clock_timestamp()), namespace, actor, :face, :address, :request_id, reason, action, object_id,
    object_name, job_id, jobs::int8multirange, before::json, after::json, detail::json
from unnest(
    :actions::text[], :actors::text[], :namespaces::text[], :object_ids::text[], :object_names::text[], :job_ids::bigint[], :job_ranges::text[],
    :reasons::text[], :states_before::text[], :states_after::text[], :details::text[]
) with ordinality as entry (
    action, actor, namespace, object_id, object_name, job_id, jobs, reason, before, after, detail, place
)
order by place
