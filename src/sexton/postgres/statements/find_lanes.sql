-- Those of these lanes that exist. $1 queues, $2 kinds of target, $3 handlers, $4 whether keyed
select lane.id, lane.queue, lane.target, lane.handler, lane.keyed
from unnest($1::text[], $2::text[], $3::text[], $4::boolean[]) as wanted (queue, target, handler, keyed)
join sexton.lanes as lane using (queue, target, handler, keyed)
