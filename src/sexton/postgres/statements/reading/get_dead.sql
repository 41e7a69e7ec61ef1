-- One dead letter, with what it was to do.
select
    coalesce(d.payload, j.payload)::text as payload,
-- include: dead_letters
where d.run_id = :run_id and j.namespace = :namespace
