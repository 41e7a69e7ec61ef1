-- The uploaded lists of a namespace, by name.
select id, name, size, uploaded_by, uploaded_at
from sexton.audiences
where namespace = :namespace and current and name > :after
order by name
limit :limit
