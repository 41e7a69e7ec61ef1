-- What must be known before a chunk of new jobs is written: the time, their ids, the quotas of their namespace. From here on the number of shards does not change; later
-- statements of the transaction see it.
select coalesce(:now::timestamptz, clock_timestamp()) as now,
       pg_advisory_xact_lock_shared(sexton.shards_lock()) as kept,
       (select array_agg(nextval('sexton.job_ids')) from generate_series(1, :count::integer)) as ids,
       space.jobs as jobs_quota, space.payload_bytes
from (values (1)) as always
left join sexton.namespaces as space on space.name = :namespace
