-- What was changed in some namespaces after :since, as the audit has it, of the first :most.
select entry.id, entry.namespace, entry.action, entry.object_id, entry.job_id
from sexton.audit_entries as entry
where entry.at > :since and entry.namespace = any (:namespaces::text[])
limit :most
