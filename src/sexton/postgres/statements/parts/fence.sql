-- The right to fire. The rows of the shards are locked in order until the end, so that a takeover waits for this
-- statement, and this statement sees every takeover before it.
-- Expects :shards and :epochs, which belong together. The first of the common table expressions; another one follows.
fence as materialized (
    select count(*) = cardinality(:shards::smallint[]) as held
    from (
        select 1
        from sexton.shards s
        join unnest(:shards::smallint[], :epochs::bigint[]) as wanted (id, epoch) on s.id = wanted.id and s.epoch = wanted.epoch
        order by s.id
        for share of s
    ) locked
),
