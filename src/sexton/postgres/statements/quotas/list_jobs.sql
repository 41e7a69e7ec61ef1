-- The next jobs of a namespace, including deleted ones, by their ids.
select id from sexton.jobs where namespace = :namespace and id > :after order by id limit :limit
