-- As list, the newest first, `before` an id.
select id, coalesce(octet_length(payload::text), 0) + coalesce(octet_length(target::text), 0) as bytes
from sexton.jobs
where id < :before
-- include: job_filter
order by id desc
limit :limit
