delete from sexton.settings where name = :name
