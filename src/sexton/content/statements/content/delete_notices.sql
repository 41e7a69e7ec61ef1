delete from sexton.content_notices where namespace = :namespace
