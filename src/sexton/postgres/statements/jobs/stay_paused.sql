-- A pause that cannot end by itself: its end is not waited for any more.
update sexton.jobs set paused_until = null, paused_reason = :reason where id = :job_id and status = 'paused'
