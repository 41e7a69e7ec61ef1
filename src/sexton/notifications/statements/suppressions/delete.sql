delete from sexton.suppressions
where namespace = :namespace and channel = :channel and address = :address
returning reason
