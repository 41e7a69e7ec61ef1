-- Runs that hold messages as their submitter, but no longer exist.
select timer.run_id
from sexton.message_timers as timer
where timer.namespace = :namespace
    and timer.run_id is not null
    and not exists (select from sexton.runs as run where run.id = timer.run_id)
limit :limit
