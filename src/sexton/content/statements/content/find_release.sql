select * from sexton.content_releases where id = :release_id and namespace = :namespace
