-- The partitions of the tables that are kept by the day, with the day each begins, as its name says. One whose detaching
-- was cut off comes first: until it is finished, no other can be detached.
select parent.relname as parent, child.relname as name, to_date(right(child.relname, 8), 'YYYYMMDD') as day,
    link.inhdetachpending as detaching
from pg_catalog.pg_inherits as link
join pg_catalog.pg_class as parent on parent.oid = link.inhparent
join pg_catalog.pg_class as child on child.oid = link.inhrelid
join pg_catalog.pg_namespace as space on space.oid = parent.relnamespace
where space.nspname = $1 and parent.relname = any ($2::text[]) and child.relname ~ '_[0-9]{8}$'
order by link.inhdetachpending desc, child.relname
