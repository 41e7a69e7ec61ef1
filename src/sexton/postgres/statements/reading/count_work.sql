-- A few figures of the whole system. Tables past a hundred thousand rows are estimated: counting ten million jobs
-- takes seconds.
select
    (select case when c.reltuples > 100000 then c.reltuples::bigint end
        from pg_class c where c.oid = 'sexton.jobs'::regclass) as jobs_estimate,
    (select case when c.reltuples > 100000 then c.reltuples::bigint end
        from pg_class c where c.oid = 'sexton.dead'::regclass) as dead_estimate,
    (select value::int from sexton.settings where name = 'shards') as shards,
    (select count(*) from sexton.shards s join sexton.nodes n on n.id = s.holder
        where s.id < (select value::int from sexton.settings where name = 'shards')
            and n.state <> 'dead' and n.lease_until > coalesce(:now::timestamptz, clock_timestamp())) as shards_led,
    (select min(first.due_at)
        from sexton.shards s
        cross join lateral (
            select t.due_at from sexton.timers t where t.shard = s.id order by t.due_at limit 1
        ) first
        where first.due_at < coalesce(:now::timestamptz, clock_timestamp())) as oldest_due_at
