-- Ids of jobs that match a filter, for counting; :most may be null.
select id
from sexton.jobs
where true
-- include: job_filter
limit :most
