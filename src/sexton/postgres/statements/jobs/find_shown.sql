-- A job by its id, as search shows it.
select id, name, status, schedule, timezone, -1 as place, target ?| :products::text[] as of_product
from sexton.jobs
where id = :job_id and namespace = :namespace
