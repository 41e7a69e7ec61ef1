-- Create a job and its timer; no row if a live job has the name. Also returns whether its zone is recorded. The scheduler is
-- notified if the job is due within `horizon_seconds`.
with made as (
    insert into sexton.jobs (
        id, namespace, name, app, kind, schedule, timezone, anchor, timing_key, target, payload, options, labels,
        description, owner, declaration, created_at, updated_at
    )
    values (
        :job_id, :namespace, :name, :app, :kind, :schedule, :timezone, :anchor, :timing_key, :target, :payload, :options,
        :labels, :description, :owner, :declaration, :now, :now
    )
    on conflict (namespace, name) where status <> 'deleted' do nothing
    returning id
),
timed as (
    insert into sexton.timers (
        job_id, shard, revision, timing_key, scheduled_at, due_at, max_runs, lane, priority, overlap, expires_seconds,
        grace_seconds, concurrency_key
    )
    select id, sexton.shard_of(id, (select value::int from sexton.settings where name = 'shards')),
           1, :timing_key, :scheduled_at, :due_at, :max_runs, :lane, :priority, :overlap, :expires_seconds,
           :grace_seconds, :concurrency_key
    from made
    returning job_id, shard
)
select job_id, case when :due_at::timestamptz <= :now::timestamptz + :horizon_seconds::float8 * interval '1 second'
                    then pg_notify('sexton_timers', shard || ':' || job_id) end is null as later,
       :timezone = 'UTC' or exists (select from sexton.zones where name = :timezone) as zone_known
from timed
