-- What a chunk of new jobs needs to know: the time, their ids, how many shards there are. $1 how many, $2 now
select coalesce($2::timestamptz, clock_timestamp()) as now,
       (select value::int from sexton.settings where name = 'shards') as shards,
       (select array_agg(nextval('sexton.job_ids')) from generate_series(1, $1::integer)) as ids
