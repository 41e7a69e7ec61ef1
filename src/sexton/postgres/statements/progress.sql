-- How far the runs of node $1 say they are. One that was lost to another claim changes nothing.
update sexton.runs as run
set progress = told.progress::jsonb
from (
    select * from unnest($2::bigint[], $3::integer[], $4::text[]) as told (id, claim, progress) order by told.id
) as told
where run.id = told.id and run.claim = told.claim and run.node = $1
