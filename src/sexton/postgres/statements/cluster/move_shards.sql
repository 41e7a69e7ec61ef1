-- Move the next timers after the job :after into their shards, of :shards. Returns the last job, how many timers were
-- read, and how many moved.
with part as materialized (
    select job_id, shard, sexton.shard_of(job_id, :shards::integer) as wanted
    from sexton.timers where job_id > :after order by job_id limit :limit
),
moved as (
    update sexton.timers t set shard = part.wanted
    from part
    where t.job_id = part.job_id and part.shard <> part.wanted
    returning 1
)
select max(job_id) as last, count(*) as seen, (select count(*) from moved) as moved from part
