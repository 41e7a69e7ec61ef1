-- The lanes a worker can serve: of its queues $1 (null: all), and of handlers $2 or of targets $3 (such as http, or
-- message:redis) that it has.
select lane.id, lane.queue, lane.target, lane.handler
from sexton.lanes as lane
where ($1::text[] is null or lane.queue = any ($1::text[]))
    and case lane.target
        when 'handler' then lane.handler = any ($2::text[])
        else lane.target || case lane.handler when '' then '' else ':' || lane.handler end = any ($3::text[])
    end
order by lane.id
