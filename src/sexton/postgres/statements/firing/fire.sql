-- Fire a batch: everything or nothing under the fence, and each timer only if it is unchanged since the scheduler read
-- it. The answer is one small row: a backend that cannot send many rows to a stopped client would hold the fence.
-- :jobs, and the number of each job's group from 1 (:groups), are both the text of an array. The arrays :revisions,
-- :scheduled, :due, :next_scheduled and :next_due have one element per group.
-- fire_special fires jobs that count their runs, must not overlap, have a concurrency key or end.
with
-- include: fence
moved as (
    update sexton.timers t
    set scheduled_at = (:next_scheduled::timestamptz[])[b.number], due_at = (:next_due::timestamptz[])[b.number],
        fired_count = t.fired_count + 1
    from unnest(:jobs::text::bigint[], :groups::text::integer[]) as b (job_id, number)
    where (select held from fence)
      and t.job_id = b.job_id and t.revision = (:revisions::integer[])[b.number] and t.overlap = 0 and t.max_runs is null
      and t.concurrency_key is null
      and t.scheduled_at = (:scheduled::timestamptz[])[b.number] and t.due_at = (:due::timestamptz[])[b.number]
      and t.due_at <= coalesce(:now::timestamptz, clock_timestamp())
    returning t.job_id, t.revision, t.lane, t.priority, t.expires_seconds, b.number
),
fired as (
    insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision)
    select job_id, lane, priority, (:due::timestamptz[])[number], (:scheduled::timestamptz[])[number],
           (:due::timestamptz[])[number], (:due::timestamptz[])[number] + expires_seconds * interval '1 second', revision
    from moved
    returning 1
)
select fence.held, (select count(*) from fired) as fired,
       (select pg_notify('sexton_runs', '') where exists (select from fired))
from fence
