-- The runs that count for the overlap of jobs, locked until the transaction ends, in the common order of locks on runs.
with
-- include: patience
held as materialized (
    select run.id, run.job_id, run.slot
    from patience
    cross join sexton.runs as run
    where run.job_id = any(:job_ids::bigint[]) and run.slot in (0, 1)
    order by run.slot, run.id
    for update of run
)
select id, job_id, slot from held
