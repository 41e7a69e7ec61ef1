select name, value, hosts, kinds from sexton.secrets order by name for update
