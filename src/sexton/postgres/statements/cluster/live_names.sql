-- The names of the nodes whose lease is good.
select name from sexton.nodes where state <> 'dead' and lease_until > clock_timestamp()
