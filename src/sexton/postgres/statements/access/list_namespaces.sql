-- Namespaces by name; :names null: all of them.
select name, description, created_at from sexton.namespaces
where (:names::text[] is null or name = any (:names))
order by name
