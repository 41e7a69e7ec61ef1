-- A run that works elsewhere says that it is alive: it may wait $2 seconds from now, if that is longer than it may already,
-- and $3 is how far it is, or null. One that somebody asked to cancel gets no more time. $4 now
update sexton.runs
set deadline_at = case
        when state = 'waiting' and cancel_requested_at is null
        then greatest(deadline_at, coalesce($4::timestamptz, clock_timestamp()) + make_interval(secs => $2::float8))
        else deadline_at
    end,
    progress = coalesce($3::jsonb, progress)
where id = $1
returning deadline_at
