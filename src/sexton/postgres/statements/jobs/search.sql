-- Jobs with these words in name, owner or description, those that begin with :pattern first; deleted ones are left out. `of_product`: the
-- job carries out what content or notifications planned; there may be very many of these, so they come last. Of each kind of match
-- no more than :look are read.
(
    select *
    from (
        select id, name, status, schedule, timezone, 0 as place, target ?| :products::text[] as of_product
        from sexton.jobs
        where namespace = :namespace and name like :pattern and status <> 'deleted'
        order by name
        limit :look
    ) as beginning
    order by of_product, name
    limit :limit
)
union all
(
    select *
    from (
        select id, name, status, schedule, timezone, 1 as place, target ?| :products::text[] as of_product
        from sexton.jobs
        where namespace = :namespace and status <> 'deleted'
            and sexton.words_of(name, owner, description) @@ :words::tsquery
        limit :look
    ) as worded
    order by of_product
    limit :limit
)
