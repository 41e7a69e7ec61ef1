-- Give runs of a node back as if they had not been claimed: the attempt does not count, the claim number stays. :reasons
-- say why (null: no reason); :delay postpones all of them by some seconds, and a :company makes all of them suspects.
with given as (
    update sexton.runs as run
    set state = case when run.attempt - 1 - run.crashes > 0 then 'failed' else 'pending' end,
        attempt = run.attempt - 1,
        available_at = coalesce(:now::timestamptz, clock_timestamp()) + make_interval(secs => :delay::float8),
        node = null,
        claimed_at = null,
        deadline_at = null,
        error = coalesce(held.reason, run.error),
        company = greatest(run.company, :company::smallint)
    from (
        select *
        from unnest(:runs::bigint[], :claims::integer[], :reasons::text[]) as held (id, claim, reason)
        order by held.id
    ) as held
    where run.id = held.id and run.claim = held.claim and run.node = :node
    returning run.id
)
select count(*) as recorded, case when count(*) < cardinality(:runs) then array_agg(given.id) end as ids
from given
