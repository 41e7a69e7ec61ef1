-- The seconds until the first of all pauses that end by themselves does.
select extract(epoch from min(paused_until) - coalesce(:now::timestamptz, clock_timestamp()))::float8
from sexton.jobs
where paused_until is not null and status = 'paused'
