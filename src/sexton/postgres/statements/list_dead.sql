-- Dead letters, the latest first: $1 job or null, $2 group or null, $3 reason or null, $4 $5 the place after which to
-- go on (or nulls), $6 how many.
select d.run_id, d.job_id, j.name as job_name, d.died_at, d.reason, d.error, d.error_group, d.scheduled_at, d.trigger,
    d.missed, d.attempt, d.idempotency_key, d.parent_run, d.revision, d.delivered_at,
    d.delivery_error, l.queue, l.target as target_kind, l.handler
from sexton.dead d
left join sexton.jobs j on j.id = d.job_id
left join sexton.lanes l on l.id = d.lane
where ($1::bigint is null or d.job_id = $1)
    and ($2::text is null or d.error_group = $2)
    and ($3::text is null or d.reason = $3)
    and ($4::timestamptz is null or (d.died_at, d.run_id) < ($4, $5::bigint))
order by d.died_at desc, d.run_id desc
limit $6
