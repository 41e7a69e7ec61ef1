-- Runs of a node wait for an outside report from now on, for some seconds each. They leave the worker, but keep its name,
-- since it sent them. A run that was reported already has ended, or belongs to another claim, and does not change.
with waiting as (
    update sexton.runs as run
    set state = 'waiting',
        deadline_at = coalesce(:now::timestamptz, clock_timestamp()) + make_interval(secs => sent.seconds)
    from (
        select *
        from unnest(:runs::bigint[], :claims::integer[], :seconds::float8[]) as sent (id, claim, seconds)
        order by sent.id
    ) as sent
    where run.id = sent.id and run.claim = sent.claim and run.node = :node and run.state = 'running'
    returning run.id
)
select count(*) as recorded, case when count(*) < cardinality(:runs) then array_agg(waiting.id) end as ids
from waiting
