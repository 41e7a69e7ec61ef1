-- As list, in the reverse order of their names, before one (null: from the last on).
select id, coalesce(octet_length(payload::text), 0) + coalesce(octet_length(target::text), 0) as bytes, name
from sexton.jobs
where (:before_name::text is null or name < :before_name)
-- include: job_filter
order by name desc, id desc
limit :limit
