-- Segments of a namespace, by name.
select name, filter, path, description, changed_by, changed_at
from sexton.segments
where namespace = :namespace and name > :after
order by name
limit :limit
