-- What has ended of one job, the latest first: $1 job, $2 $3 $4 the place after which to go on (or nulls), $5 statuses,
-- $6 triggers or null, $7 how many. Skipped occurrences are rows without a run.
select
    h.recorded_at, h.run_id, h.job_id, j.name as job_name, h.trigger, h.missed, h.scheduled_at, h.status, h.reason,
    h.attempt, h.error, n.name as worker, h.node, h.fired_at, h.started_at, h.finished_at, h.until_at, h.occurrences,
    h.result::text, h.idempotency_key, h.parent_run, h.revision,
    (j.options ->> 'jitter_seconds')::int as jitter_seconds
from sexton.history h
left join sexton.jobs j on j.id = h.job_id
left join sexton.nodes n on n.id = h.node
where h.job_id = $1
    and h.recorded_at <= coalesce($2::timestamptz, 'infinity')
    and ($2::timestamptz is null or (h.recorded_at, coalesce(h.run_id, 0), h.scheduled_at) < ($2, $3::bigint, $4::timestamptz))
    and h.status = any ($5::text[])
    and ($6::text[] is null or h.trigger = any ($6))
order by h.recorded_at desc, coalesce(h.run_id, 0) desc, h.scheduled_at desc
limit $7
