-- The names of the nodes whose lease has not ended.
select name from sexton.nodes where state <> 'dead' and lease_until > clock_timestamp()
