-- What must be known before a new job is written: the time, its id, its lane if it exists, the quotas of its namespace. From here on the number of
-- shards does not change; later statements of the transaction see it.
select coalesce(:now::timestamptz, clock_timestamp()) as now, nextval('sexton.job_ids') as job_id,
       pg_advisory_xact_lock_shared(sexton.shards_lock()) as kept,
       (
           select id from sexton.lanes
           where namespace = :namespace and queue = :queue and target = :target and handler = :handler and keyed = :keyed
       ) as lane,
       space.jobs as jobs_quota, space.payload_bytes
from (values (1)) as always
left join sexton.namespaces as space on space.name = :namespace
