-- Jobs by shard: reads every timer.
select shard, count(*) as jobs from sexton.timers group by shard
