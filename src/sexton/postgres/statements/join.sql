-- Become a node. $1 name, $2 roles, $3 app, $4 handlers, $5 queues, $6 lease in seconds, $7 capacity, $8 version,
-- $9 detail, $10 state
insert into sexton.nodes (name, roles, app, handlers, queues, lease_until, capacity, version, detail, state)
values ($1, $2, $3, $4, $5, clock_timestamp() + $6 * interval '1 second', $7, $8, $9::jsonb, $10)
returning id, clock_timestamp() as now
