-- As list, in the order of their names, after one (null: from the first on).
select id, coalesce(octet_length(payload::text), 0) + coalesce(octet_length(target::text), 0) as bytes, name
from sexton.jobs
where (:after_name::text is null or name > :after_name)
-- include: job_filter
order by name, id
limit :limit
