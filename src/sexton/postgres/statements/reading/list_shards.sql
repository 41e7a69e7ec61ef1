-- The leader of every shard. Shards beyond the number in force are left from before a reshard: they have none.
select s.id, s.epoch, s.taken_at, n.id as leader, n.name,
    extract(epoch from n.lease_until - coalesce(:now::timestamptz, clock_timestamp()))::float8 as lease_left_seconds,
    n.detail -> 'wheels' ->> s.id::text as wheel_entries
from sexton.shards s
left join sexton.nodes n on n.id = s.holder and n.state <> 'dead'
where s.id < (select value::int from sexton.settings where name = 'shards')
order by s.id
