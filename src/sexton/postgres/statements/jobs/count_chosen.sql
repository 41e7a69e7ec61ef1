-- How many jobs match a filter, `after` an id and up to another (`through`; null: to the last), and the last of them.
select count(*) as jobs, max(id) as last
from sexton.jobs
where id > :after and id <= coalesce(:through::bigint, 9223372036854775807)
-- include: job_filter
