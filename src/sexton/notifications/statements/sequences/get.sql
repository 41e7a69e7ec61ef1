-- A sequence, by its name.
select * from sexton.sequences where namespace = :namespace and name = :name and deleted_at is null
