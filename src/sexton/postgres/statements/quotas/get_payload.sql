-- How many bytes a payload may have in a namespace; null: no quota.
select payload_bytes from sexton.namespaces where name = :namespace
