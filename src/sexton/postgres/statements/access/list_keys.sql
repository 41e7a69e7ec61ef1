-- The keys of a namespace, or with `*` of all, after one with this id.
select id, namespace, name, role, beginning, created_by, created_at, expires_at, revoked_at, last_used_at, rate
from sexton.keys
where (:namespace::text = '*' or namespace = :namespace) and id > :after
order by id
limit :limit
