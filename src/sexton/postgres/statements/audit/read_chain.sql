-- The next rows of the chain, of all namespaces.
select
    -- include: audit_view
from sexton.audit as entry
where entry.sequence > :after
order by entry.sequence
limit :limit
