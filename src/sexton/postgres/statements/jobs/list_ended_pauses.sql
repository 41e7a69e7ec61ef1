-- Jobs whose pause is over.
select id, namespace
from sexton.jobs
where paused_until <= coalesce(:now::timestamptz, clock_timestamp()) and status = 'paused'
order by paused_until
limit :limit
