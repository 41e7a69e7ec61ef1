-- A worker that stops: `draining` takes no more runs, `dead` has given its runs back (the reaper looks again, hence 1), and
-- is shown as stopped.
update sexton.nodes as node
set state = $2,
    running = case when $2 = 'dead' then greatest($3, 1) else $3 end,
    lease_until = case when $2 = 'dead' then coalesce($4::timestamptz, clock_timestamp()) else node.lease_until end,
    detail = case when $2 = 'dead' then node.detail || '{"stopped": true}' else node.detail end
where node.id = $1 and node.state <> 'dead'
