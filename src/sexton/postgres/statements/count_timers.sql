-- Jobs by shard: a look at every timer.
select shard, count(*) as jobs from sexton.timers group by shard
