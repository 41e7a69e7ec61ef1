-- The job that had a name last and is deleted.
select id
from sexton.jobs
where namespace = :namespace and name = :name and status = 'deleted'
order by id desc
limit 1
