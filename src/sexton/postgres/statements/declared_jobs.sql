-- The jobs that an application declares, or has declared, and whoever has their names. One that was declared, ran its
-- course and was removed is remembered by its declaration. $1 namespace, $2 app, $3 names
select distinct on (name, live) id, name, app, status, declaration, paused_reason, status <> 'deleted' as live
from sexton.jobs
where namespace = $1 and ((app = $2 and declaration is not null) or (name = any($3::text[]) and status <> 'deleted'))
order by name, live, id desc
