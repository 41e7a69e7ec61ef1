-- A lane that exists. $1 queue, $2 kind of target, $3 handler
select id from sexton.lanes where queue = $1 and target = $2 and handler = $3
