-- Give back the runs that a node holds and does not know of, because the answer to their claim was lost. :known are the
-- runs that it knows of, including those whose outcomes are not written yet. The attempt does not count.
with given as (
    update sexton.runs as run
    set state = case when run.attempt - 1 - run.crashes > 0 then 'failed' else 'pending' end,
        attempt = run.attempt - 1,
        available_at = coalesce(:now::timestamptz, clock_timestamp()),
        node = null,
        claimed_at = null,
        deadline_at = null
    where run.node = :node and run.state = 'running' and run.id <> all (:known::bigint[])
    returning run.id
)
select count(*) from given
