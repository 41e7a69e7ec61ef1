-- Ask the live run of a job to make room for the next one, and tell its worker.
update sexton.runs
set cancel_requested_at = :now, cancel_reason = 'another run was asked for'
where job_id = :job_id and slot = 0 and cancel_requested_at is null
returning pg_notify('sexton_cancels', coalesce(node::text, ''))
