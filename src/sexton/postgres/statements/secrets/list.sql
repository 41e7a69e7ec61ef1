select name, hosts, kinds, created_at, updated_at from sexton.secrets where namespace = :namespace order by name
