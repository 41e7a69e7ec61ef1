-- Give runs of node $1 back as if they had not been claimed: the attempt is not charged, the claim number stays. $4 says
-- why, where there is something to say; $5 puts them off by some seconds.
with given as (
    update sexton.runs as run
    set state = case when run.attempt - 1 - run.crashes > 0 then 'failed' else 'pending' end,
        attempt = run.attempt - 1,
        available_at = coalesce($6::timestamptz, clock_timestamp()) + make_interval(secs => $5::float8),
        node = null,
        claimed_at = null,
        deadline_at = null,
        error = coalesce(held.reason, run.error)
    from (
        select * from unnest($2::bigint[], $3::integer[], $4::text[]) as held (id, claim, reason) order by held.id
    ) as held
    where run.id = held.id and run.claim = held.claim and run.node = $1
    returning run.id
)
select count(*) as recorded, case when count(*) < cardinality($2) then array_agg(given.id) end as ids
from given
