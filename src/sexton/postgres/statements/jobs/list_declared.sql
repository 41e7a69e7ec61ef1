-- The jobs that an application declares, or has declared, and the live jobs with the names that it wants. A job that was
-- declared, has completed and was removed is still known by its declaration.
select distinct on (name, live) id, name, app, status, declaration, paused_reason, status <> 'deleted' as live
from sexton.jobs
where namespace = :namespace
  and ((app = :app and declaration is not null) or (name = any(:names::text[]) and status <> 'deleted'))
order by name, live, id desc
