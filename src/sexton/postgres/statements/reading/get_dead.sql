-- One dead letter, with its target and payload.
select
    coalesce(d.payload, j.payload)::text as payload,
-- include: dead_letters
where d.run_id = :run_id and j.namespace = :namespace
