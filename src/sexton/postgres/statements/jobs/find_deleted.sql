-- The last deleted job that had a name; preferably one that can be restored.
select id
from sexton.jobs
where namespace = :namespace and name = :name and status = 'deleted'
order by deleted_as is null or (deleted_as ->> 'final')::boolean is true, deleted_at desc, id desc
limit 1
