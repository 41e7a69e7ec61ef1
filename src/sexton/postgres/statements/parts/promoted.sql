-- When a run has ended, release the next waiting run of its job, missed ones first, and notify workers. The last of the common table expressions.
-- Expects moment, and ended with the id, job_id and slot of the runs that have ended; several may belong to one job. It joins on the
-- id: an edit that this statement waits for gives the row another ctid.
promoted as (
    update sexton.runs as run
    set slot = 0, available_at = greatest((select now from moment), run.not_before)
    where run.slot <> 0 and run.id = any (array(
        select next.id
        from ended
        cross join lateral (
            select next.id
            from sexton.runs as next
            where next.job_id = ended.job_id and next.slot <> 0
                and not exists (select from ended as gone where gone.id = next.id)
            order by next.slot
            limit 1
        ) as next
        where ended.slot = 0
    ))
    returning pg_notify('sexton_runs', run.lane::text)
)
