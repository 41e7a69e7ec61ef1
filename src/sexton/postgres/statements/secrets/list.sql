select name, hosts, kinds, created_at, updated_at from sexton.secrets order by name
