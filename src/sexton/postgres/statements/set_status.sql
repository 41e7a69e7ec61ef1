-- Pause ($2 paused, $3 reason, $4 until) or let go on ($2 active). $1 job, $5 now
update sexton.jobs
set status = $2, paused_reason = $3, paused_until = $4, completed_at = null, updated_at = $5
where id = $1
