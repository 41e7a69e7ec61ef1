-- Jobs whose pause is over. $1 now, or null for the database clock; $2 limit
select id, namespace
from sexton.jobs
where paused_until <= coalesce($1::timestamptz, clock_timestamp()) and status = 'paused'
order by paused_until
limit $2
