delete from sexton.content_adapters where namespace = :namespace and name = :name
