-- Remove the oldest rows of the chain, of all namespaces, up to the first that is still to be kept. Keep the hash of the last removed
-- row: the chain begins after it.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
oldest as materialized (
    select sequence, hash, at
    from sexton.audit
    where (select count(*) from (select from sexton.audit_head for update) as held) > 0
    order by sequence
    limit :limit
),
over as materialized (
    select sequence, hash
    from oldest
    where sequence < coalesce(
        (
            select min(sequence) from oldest
            where at >= (select now from moment) - make_interval(days => :keep_days::int)
        ),
        9223372036854775807
    )
),
removed as (
    delete from sexton.audit where sequence = any (array(select sequence from over))
),
moved as (
    update sexton.audit_head
    set removed_sequence = last.sequence, removed_hash = last.hash
    from (select sequence, hash from over order by sequence desc limit 1) as last
)
select count(*) as count, max(sequence) as last from over
