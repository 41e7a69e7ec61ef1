select value, hosts, kinds from sexton.secrets where namespace = :namespace and name = :name
