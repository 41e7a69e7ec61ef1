-- One ended run. A run that died and was redriven keeps its row; the redrive is a run of its own.
select
    h.recorded_at, h.run_id, h.job_id, j.name as job_name, h.trigger, h.missed, h.scheduled_at, h.status, h.reason,
    h.attempt, h.error, n.name as worker, h.node, h.fired_at, h.started_at, h.finished_at, h.until_at, h.occurrences,
    h.result::text, h.idempotency_key, h.parent_run, h.revision, h.claim,
    coalesce(h.payload, j.payload)::text as payload,
    (j.options ->> 'jitter_seconds')::int as jitter_seconds
from sexton.history h
left join sexton.jobs j on j.id = h.job_id
left join sexton.nodes n on n.id = h.node
where h.run_id = $1
order by h.recorded_at desc
limit 1
