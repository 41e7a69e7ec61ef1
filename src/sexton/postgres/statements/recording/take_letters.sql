-- Lease dead letters that are due, for :lease_seconds: until then no other worker sends them. Letters without a target
-- are not read again. The target is that of the job, or of all jobs of its namespace. Only of :namespaces (null: of all):
-- a worker that sends a letter sees it, and the secrets of its target. :hearing are the kinds of target that are informed of
-- their own dead runs; `kind` is the run's kind, if it is one of them.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
picked as materialized (
    select dead.run_id
    from sexton.dead as dead
    where dead.next_delivery_at <= (select now from moment)
        and (
            :namespaces::text[] is null
            or dead.lane in (select lane.id from sexton.lanes as lane where lane.namespace = any (:namespaces::text[]))
        )
    order by dead.next_delivery_at
    limit :limit
    for update skip locked
),
addressed as (
    select
        picked.run_id, job.name as job_name, coalesce(dead.payload, job.payload)::text as payload,
        coalesce(job.options -> 'dead_letter_target', nullif(setting.value, 'null')) as target, lane.target as kind
    from picked
    join sexton.dead as dead on dead.run_id = picked.run_id
    left join sexton.jobs as job on job.id = dead.job_id
    left join sexton.settings as setting
        on setting.name = 'dead_letter_target/' || coalesce(job.namespace, 'default')
    left join sexton.lanes as lane on lane.id = dead.lane and lane.target = any (:hearing::text[])
)
update sexton.dead as dead
set next_delivery_at = case
        when coalesce(addressed.target::text, addressed.kind) is not null then (select now from moment) + make_interval(secs => :lease_seconds::float8)
    end,
    deliveries = dead.deliveries + case when coalesce(addressed.target::text, addressed.kind) is null then 0 else 1 end
from addressed
where dead.run_id = addressed.run_id
returning
    dead.run_id, dead.job_id, addressed.job_name, dead.died_at, dead.reason, dead.error, dead.error_group,
    dead.scheduled_at, dead.trigger, dead.missed, dead.attempt, dead.idempotency_key, dead.parent_run, dead.revision,
    dead.deliveries, addressed.payload, addressed.target::text as target, addressed.kind
