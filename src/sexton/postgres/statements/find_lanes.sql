-- Those of these lanes that exist. $1 queues, $2 kinds of target, $3 handlers
select lane.id, lane.queue, lane.target, lane.handler
from unnest($1::text[], $2::text[], $3::text[]) as wanted (queue, target, handler)
join sexton.lanes as lane using (queue, target, handler)
