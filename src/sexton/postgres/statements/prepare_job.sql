-- What a new job needs to know before it is written: the time, its id, how many shards there are, its lane if it exists.
-- $1 queue, $2 kind of target, $3 handler, $4 now, or null for the database clock.
select coalesce($4::timestamptz, clock_timestamp()) as now, nextval('sexton.job_ids') as job_id,
       (select value::int from sexton.settings where name = 'shards') as shards,
       (select id from sexton.lanes where queue = $1 and target = $2 and handler = $3) as lane
