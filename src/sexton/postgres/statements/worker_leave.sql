-- A worker that stops: `draining` takes no more runs, `dead` has given all of its runs back.
update sexton.nodes as node
set state = $2, running = $3,
    lease_until = case when $2 = 'dead' then coalesce($4::timestamptz, clock_timestamp()) else node.lease_until end
where node.id = $1 and node.state <> 'dead'
