-- Store the progress that runs of a node report. A run that was lost to another claim changes nothing.
update sexton.runs as run
set progress = new.progress::jsonb
from (
    select *
    from unnest(:runs::bigint[], :claims::integer[], :progress::text[]) as new (id, claim, progress)
    order by new.id
) as new
where run.id = new.id and run.claim = new.claim and run.node = :node
