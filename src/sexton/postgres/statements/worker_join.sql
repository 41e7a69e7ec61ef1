-- A worker becomes a node: what it can run, and until when it may be trusted.
insert into sexton.nodes (
    name, roles, app, handlers, queues, lease_until, heartbeat_at, capacity, version, backend_pids, state, targets
)
select
    $1, '{worker}', $2, $3, $4, moment.now + make_interval(secs => $5::float8), moment.now, $6, $7, array[pg_backend_pid()], $9,
    $10
from (select coalesce($8::timestamptz, clock_timestamp()) as now) as moment
returning id, extract(epoch from heartbeat_at)::float8 as now
