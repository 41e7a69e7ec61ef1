-- Expects `slice` and `picked`, as the part `expand` does; nothing is written.
counted as (
    select count(*) as named, count(distinct picked.user_id) as total, count(*) filter (where not picked.complete) as incomplete,
        count(*) filter (where not picked.reachable) as unreachable
    from picked
)
select counted.total, counted.named - counted.total as duplicates, counted.incomplete, counted.unreachable,
    (
        select jsonb_object_agg(found.zone, found.count)
        from (select picked.zone, count(distinct picked.user_id) as count from picked group by picked.zone) as found
    ) as zones,
    (select max(slice.place) from slice) as reached,
    (select count(*) from slice) as looked_at,
