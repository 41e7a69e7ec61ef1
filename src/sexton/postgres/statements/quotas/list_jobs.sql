-- The next jobs of a namespace, deleted ones too, by their ids.
select id from sexton.jobs where namespace = :namespace and id > :after order by id limit :limit
