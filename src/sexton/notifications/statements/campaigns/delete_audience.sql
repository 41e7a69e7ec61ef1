-- Remove a list, but not its members.
delete from sexton.audiences where namespace = :namespace and id = :audience_id
