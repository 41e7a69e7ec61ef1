delete from sexton.secrets where name = :name returning name
