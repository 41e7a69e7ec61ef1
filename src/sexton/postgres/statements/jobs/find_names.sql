-- Which of these names live jobs have.
select name, id from sexton.jobs where namespace = :namespace and name = any(:names::text[]) and status <> 'deleted'
