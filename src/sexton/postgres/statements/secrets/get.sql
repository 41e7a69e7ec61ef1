select value, hosts, kinds from sexton.secrets where name = :name
