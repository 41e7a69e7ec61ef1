-- Fire a batch of jobs that fire does not handle: their runs are counted (max_runs), must not overlap, have a concurrency
-- key, or this occurrence is the last. The fence and the parameters are the same; :may_end says per group whether this
-- occurrence may be the last.
with
-- include: fence
batch as materialized (
    select d.job_id, (:revisions::integer[])[d.number] as revision,
           (:scheduled::timestamptz[])[d.number] as scheduled_at, (:due::timestamptz[])[d.number] as due_at,
           (:next_scheduled::timestamptz[])[d.number] as next_at, (:next_due::timestamptz[])[d.number] as next_due_at,
           (:may_end::boolean[])[d.number] as may_end
    from unnest(:jobs::text::bigint[], :groups::text::integer[]) as d (job_id, number), fence
    where fence.held
),
-- include: special_moved
fired as materialized (
    select moved.*, due_at as available_at, null::timestamptz as not_before from moved
),
-- include: special_runs
select fence.held, (select count(*) from fired) as fired,
       (select pg_notify('sexton_runs', '') where exists (select from fired)),
       (select pg_notify('sexton_cancels', '') where exists (select from stopping))
from fence
