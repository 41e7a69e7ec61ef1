-- Give back what node $1 holds without knowing it: a claim whose answer was lost. $2 are the runs it has in hand, outcomes
-- that are not written yet included. The attempt is not charged.
with given as (
    update sexton.runs as run
    set state = case when run.attempt - 1 - run.crashes > 0 then 'failed' else 'pending' end,
        attempt = run.attempt - 1,
        available_at = coalesce($3::timestamptz, clock_timestamp()),
        node = null,
        claimed_at = null,
        deadline_at = null
    where run.node = $1 and run.state = 'running' and run.id <> all ($2::bigint[])
    returning run.id
)
select count(*) from given
