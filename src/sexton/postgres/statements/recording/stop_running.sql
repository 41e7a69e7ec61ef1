-- Ask the live runs of jobs to end for the next ones, and notify their workers.
update sexton.runs
set cancel_requested_at = :now, cancel_reason = 'another run was asked for'
where job_id = any(:job_ids::bigint[]) and slot = 0 and cancel_requested_at is null
returning pg_notify('sexton_cancels', coalesce(node::text, ''))
