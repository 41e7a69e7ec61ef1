-- Where the chain ends, and where it begins since retention removed older entries; how many entries have waited too long to be
-- sealed, and since when.
select head.sequence, encode(head.hash, 'hex') as hash, head.removed_sequence, encode(head.removed_hash, 'hex') as removed_hash,
       late.count as late, late.since
from sexton.audit_head as head
cross join (
    select count(*), min(at) as since
    from sexton.audit_pending
    where at < coalesce(:now::timestamptz, clock_timestamp()) - interval '1 minute'
) as late
