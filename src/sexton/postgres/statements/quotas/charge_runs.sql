-- Charge the meter of a namespace's runs, which is locked, with :runs that start as its rate allows.
update sexton.meters
set taken = taken + :runs::bigint, free_at = coalesce(:free_at::timestamptz, free_at)
where namespace = :namespace and kind = 'runs'
