-- Entries of all namespaces that are committed and wait to be sealed, the oldest first.
select
    -- include: audit_view
from (
    select null::bigint as sequence, null::bytea as previous, null::bytea as hash, pending.*
    from sexton.audit_pending as pending
    order by pending.at, pending.id
    limit :limit
    for update of pending
) as entry
order by entry.at, entry.id
