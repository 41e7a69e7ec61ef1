-- The live job of a name.
select id from sexton.jobs where namespace = :namespace and name = :name and status <> 'deleted'
