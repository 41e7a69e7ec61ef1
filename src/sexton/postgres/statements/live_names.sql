-- The names of the processes that are there.
select name from sexton.nodes where state <> 'dead' and lease_until > clock_timestamp()
