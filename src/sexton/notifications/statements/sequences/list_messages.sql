-- The steps of a recipient.
select id, status, scheduled_at from sexton.messages where namespace = :namespace and id = any (:ids::bigint[]) order by scheduled_at, id
