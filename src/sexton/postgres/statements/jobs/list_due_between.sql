-- Timers of a namespace that are due from :start on and before :end, to count them; :most may be null.
select timer.job_id
from sexton.timers as timer
where timer.shard = any (array(select id from sexton.shards)) and timer.due_at >= :start and timer.due_at < :end
    and timer.lane = any (array(select id from sexton.lanes where namespace = :namespace))
limit :most
