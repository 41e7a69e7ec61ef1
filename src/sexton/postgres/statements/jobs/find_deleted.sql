-- The job that had a name last and is deleted; one that can be restored, if there is any.
select id
from sexton.jobs
where namespace = :namespace and name = :name and status = 'deleted'
order by deleted_as is null or (deleted_as ->> 'final')::boolean is true, deleted_at desc, id desc
limit 1
