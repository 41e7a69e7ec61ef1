delete from sexton.secrets where namespace = :namespace and name = :name returning name
