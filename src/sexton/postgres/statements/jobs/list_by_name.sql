-- The live jobs of these names, with all columns.
select * from sexton.jobs where namespace = :namespace and name = any(:names::text[]) and status <> 'deleted'
