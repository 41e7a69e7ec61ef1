-- Which of these names live jobs have. $1 namespace, $2 names
select name, id from sexton.jobs where namespace = $1 and name = any($2::text[]) and status <> 'deleted'
