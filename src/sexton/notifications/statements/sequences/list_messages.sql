-- The messages of a recipient in a sequence.
select id, status, scheduled_at from sexton.messages where namespace = :namespace and id = any (:ids::bigint[]) order by scheduled_at, id
