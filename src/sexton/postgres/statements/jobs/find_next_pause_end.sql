-- The seconds until the first of the pauses that have an end is over.
select extract(epoch from min(paused_until) - coalesce(:now::timestamptz, clock_timestamp()))::float8
from sexton.jobs
where paused_until is not null and status = 'paused'
