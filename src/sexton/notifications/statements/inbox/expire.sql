with gone as (
    delete from sexton.inbox
    where id in (
        select id from sexton.inbox
        where namespace = :namespace and expires_at <= coalesce(:now::timestamptz, clock_timestamp())
        order by expires_at
        limit :limit
    )
    returning 1
)
select count(*) from gone
