delete from sexton.secrets where name = $1 returning name
