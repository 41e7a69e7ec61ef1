-- The partitions of the daily tables, with the day on which each begins, as its name says. A partition whose detaching
-- was interrupted comes first: until that is finished, no other can be detached. A partition that was detached and not
-- dropped still exists, without a parent (`loose`).
select parent.name as parent, child.relname as name, to_date(right(child.relname, 8), 'YYYYMMDD') as day,
    coalesce(link.inhdetachpending, false) as detaching, link.inhrelid is null as loose
from unnest(:parents::text[]) as parent (name)
join pg_catalog.pg_namespace as space on space.nspname = :schema
join pg_catalog.pg_class as child
    on child.relnamespace = space.oid and child.relkind = 'r' and child.relname ~ ('^' || parent.name || '_[0-9]{8}$')
left join pg_catalog.pg_inherits as link on link.inhrelid = child.oid
order by detaching desc, child.relname
