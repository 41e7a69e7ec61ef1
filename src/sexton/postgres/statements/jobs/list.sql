-- Ids of jobs, with the size of their large fields in bytes, in the order in which they were made, `after` an id.
select id, coalesce(octet_length(payload::text), 0) + coalesce(octet_length(target::text), 0) as bytes
from sexton.jobs
where id > :after
-- include: job_filter
order by id
limit :limit
