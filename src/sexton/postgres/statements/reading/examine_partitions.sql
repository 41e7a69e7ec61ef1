-- For how many days ahead history has partitions, by their upper bounds. Null if it has none.
select floor(extract(epoch from max(part.upper) - clock_timestamp()) / 86400)::int as days
from (
    select (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz as upper
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'sexton.history'::regclass
) part
