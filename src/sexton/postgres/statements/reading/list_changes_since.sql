-- Changes in some namespaces after :since, from the first :most entries of the audit.
select entry.id, entry.namespace, entry.action, entry.object_id, entry.job_id
from sexton.audit_entries as entry
where entry.at > :since and entry.namespace = any (:namespaces::text[])
limit :most
