-- Digests of a namespace, by name.
select * from sexton.digests where namespace = :namespace and name > :after and deleted_at is null order by name limit :limit
