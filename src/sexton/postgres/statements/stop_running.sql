-- Ask the live run of a job to make room for the next one, and tell its worker. $1 job, $2 now
update sexton.runs
set cancel_requested_at = $2, cancel_reason = 'another run was asked for'
where job_id = $1 and slot = 0 and cancel_requested_at is null
returning pg_notify('sexton_cancels', coalesce(node::text, ''))
