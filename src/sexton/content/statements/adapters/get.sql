select name, kind, config, revision, changed_by, changed_at
from sexton.content_adapters
where namespace = :namespace and name = :name
