-- What a new job needs to know before it is written: the time, its id, its lane if it exists. From here on the number of
-- shards does not change; later statements of the transaction see it.
-- $1 queue, $2 kind of target, $3 handler, $4 whether keyed, $5 now, or null for the database clock.
select coalesce($5::timestamptz, clock_timestamp()) as now, nextval('sexton.job_ids') as job_id,
       pg_advisory_xact_lock_shared(sexton.shards_lock()) as kept,
       (select id from sexton.lanes where queue = $1 and target = $2 and handler = $3 and keyed = $4) as lane
