-- A run that is carried out elsewhere reports that it goes on: it may wait :seconds from now, or longer if it already may.
-- :progress may be null. A run whose cancellation was requested gets no more time.
update sexton.runs
set deadline_at = case
        when state = 'waiting' and cancel_requested_at is null
        then greatest(deadline_at, coalesce(:now::timestamptz, clock_timestamp()) + make_interval(secs => :seconds::float8))
        else deadline_at
    end,
    progress = coalesce(:progress::jsonb, progress)
where id = :run_id
returning deadline_at
