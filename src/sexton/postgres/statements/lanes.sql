-- The lanes a worker can serve: of its queues (null: all), and of handlers it has or of targets that need none.
select lane.id, lane.queue, lane.target, lane.handler
from sexton.lanes as lane
where ($1::text[] is null or lane.queue = any ($1::text[]))
    and (lane.target <> 'handler' or lane.handler = any ($2::text[]))
order by lane.id
