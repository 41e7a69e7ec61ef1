select value from sexton.secrets where name = :name
