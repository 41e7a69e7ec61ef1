-- The live job of this name.
select id from sexton.jobs where namespace = 'default' and name = $1 and status <> 'deleted'
