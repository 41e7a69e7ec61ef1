-- Move timers out of shards beyond the current number, which no scheduler leads, and notify the schedulers. There are
-- none, unless timers were written by hand or restored from before a reshard.
with number as materialized (
    select value::int as shards from sexton.settings where name = 'shards'
),
lost as materialized (
    select job_id from sexton.timers where shard >= (select shards from number) order by job_id limit 10000
),
mended as (
    update sexton.timers t set shard = sexton.shard_of(t.job_id, (select shards from number))
    from lost
    where t.job_id = lost.job_id and t.shard >= (select shards from number)
    returning 1
)
select (select count(*) from mended) as mended,
       (select pg_notify('sexton_timers', '') where exists (select from mended))
