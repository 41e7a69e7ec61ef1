-- Remove a segment.
delete from sexton.segments where namespace = :namespace and name = :name
