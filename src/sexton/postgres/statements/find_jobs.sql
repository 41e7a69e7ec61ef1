-- The live job of a name. $1 namespace, $2 name
select id from sexton.jobs where namespace = $1 and name = $2 and status <> 'deleted'
