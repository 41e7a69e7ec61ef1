-- Fire a batch: everything or nothing under the fence, and each timer only if it is still what the scheduler saw.
-- It answers with one small row: a backend that is stuck sending rows to a stopped client would hold the fence.
-- $1 jobs and $2 their groups (1-based), both as the text of an array; per group: $3 revision, $4 scheduled, $5 due,
-- $6 next scheduled, $7 next due; $8 shards, $9 epochs; $10 now, or null for the database clock.
-- Jobs whose runs are counted, must not overlap or have a concurrency key, and those that end, are fired by fire_special.
with
-- include: fence
moved as (
    update sexton.timers t
    set scheduled_at = ($6::timestamptz[])[b.place], due_at = ($7::timestamptz[])[b.place], fired_count = t.fired_count + 1
    from unnest($1::text::bigint[], $2::text::integer[]) as b (job_id, place)
    where (select held from fence)
      and t.job_id = b.job_id and t.revision = ($3::integer[])[b.place] and t.overlap = 0 and t.max_runs is null
      and t.concurrency_key is null
      and t.scheduled_at = ($4::timestamptz[])[b.place] and t.due_at = ($5::timestamptz[])[b.place]
      and t.due_at <= coalesce($10::timestamptz, clock_timestamp())
    returning t.job_id, t.revision, t.lane, t.priority, t.expires_seconds, b.place
),
fired as (
    insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, expires_at, revision)
    select job_id, lane, priority, ($5::timestamptz[])[place], ($4::timestamptz[])[place], ($5::timestamptz[])[place],
           ($5::timestamptz[])[place] + expires_seconds * interval '1 second', revision
    from moved
    returning 1
)
select fence.held, (select count(*) from fired) as fired,
       (select pg_notify('sexton_runs', '') where exists (select from fired))
from fence
