-- Sequences of a namespace, by name.
select * from sexton.sequences where namespace = :namespace and name > :after and deleted_at is null order by name limit :limit
