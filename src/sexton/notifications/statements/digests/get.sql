-- A digest, by its name.
select * from sexton.digests where namespace = :namespace and name = :name and deleted_at is null
