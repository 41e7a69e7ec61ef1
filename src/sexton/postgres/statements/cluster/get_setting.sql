select value::text from sexton.settings where name = :name
