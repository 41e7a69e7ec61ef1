-- The list that a name refers to.
select id, name, size, uploaded_by, uploaded_at
from sexton.audiences
where namespace = :namespace and name = :name and current
