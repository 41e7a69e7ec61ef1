-- Runs of node $1 wait for an outside report from now on, for $4 seconds each. They leave the worker, and keep its name:
-- who sent them on. One whose report came before this is not here any more, or is somebody else's: nothing is touched.
with waiting as (
    update sexton.runs as run
    set state = 'waiting',
        deadline_at = coalesce($5::timestamptz, clock_timestamp()) + make_interval(secs => sent.seconds)
    from (
        select * from unnest($2::bigint[], $3::integer[], $4::float8[]) as sent (id, claim, seconds) order by sent.id
    ) as sent
    where run.id = sent.id and run.claim = sent.claim and run.node = $1 and run.state = 'running'
    returning run.id
)
select count(*) as recorded, case when count(*) < cardinality($2) then array_agg(waiting.id) end as ids
from waiting
