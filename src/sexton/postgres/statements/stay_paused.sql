-- A pause that cannot end by itself: nobody waits for its end any more. $1 job, $2 why
update sexton.jobs set paused_until = null, paused_reason = $2 where id = $1 and status = 'paused'
