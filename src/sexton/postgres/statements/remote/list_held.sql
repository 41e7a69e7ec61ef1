-- The runs that a worker over HTTP holds; for each, whether it is to be cancelled, is over its time limit, or was claimed so long
-- ago that the worker must know of it.
select run.id, run.claim, run.cancel_requested_at is not null as cancelled,
    run.deadline_at <= coalesce(:now::timestamptz, clock_timestamp()) as overdue,
    run.claimed_at <= coalesce(:now::timestamptz, clock_timestamp()) - :known_seconds::float8 * interval '1 second' as known
from sexton.nodes as node
join sexton.runs as run on run.id = any (node.begun) and run.node = node.id and run.state = 'running'
where node.id = :node
order by run.id
