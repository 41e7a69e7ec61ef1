-- A segment.
select name, filter, path, description, changed_by, changed_at
from sexton.segments
where namespace = :namespace and name = :name
