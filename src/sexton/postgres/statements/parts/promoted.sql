-- The next run of a job, if one is queued, may go once the one before has ended. The last of the common table expressions.
-- Expects moment, and ended with the job_id and slot of the runs that have ended. By its id: an edit that this waits for
-- gives the row another place.
promoted as (
    update sexton.runs as run
    set slot = 0, available_at = (select now from moment)
    where run.slot = 1 and run.id = any (array(
        select next.id
        from ended
        cross join lateral (
            select next.id from sexton.runs as next where next.job_id = ended.job_id and next.slot = 1 offset 0
        ) as next
        where ended.slot = 0
    ))
)
