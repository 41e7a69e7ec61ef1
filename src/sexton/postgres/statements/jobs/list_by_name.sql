-- The live jobs of these names, whole.
select * from sexton.jobs where namespace = :namespace and name = any(:names::text[]) and status <> 'deleted'
