-- The shown columns of an audit entry. Expects entry, of audit_entries.
entry.sequence, entry.at, entry.id, entry.namespace, entry.actor, entry.face, entry.address, entry.request_id, entry.reason,
entry.action, entry.object_id, entry.object_name, entry.job_id, entry.jobs::text as jobs, entry.before, entry.after,
entry.detail, encode(entry.previous, 'hex') as previous, encode(entry.hash, 'hex') as hash
