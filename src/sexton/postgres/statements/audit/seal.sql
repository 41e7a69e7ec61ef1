-- Give entries of all namespaces their places in the chain, and move its end.
with sealed as materialized (
    select *
    from unnest(:at::timestamptz[], :id::bigint[], :sequence::bigint[], :previous::text[], :hash::text[])
        as given (at, id, sequence, previous, hash)
),
taken as (
    delete from sexton.audit_pending as pending
    using sealed
    where pending.at = sealed.at and pending.id = sealed.id
    returning sealed.sequence, decode(sealed.previous, 'hex') as previous, decode(sealed.hash, 'hex') as hash, pending.*
),
kept as (
    insert into sexton.audit (
        sequence, previous, hash, at, id, namespace, actor, face, address, request_id, reason, action, object_id, object_name,
        job_id, jobs, before, after, detail
    )
    select
        sequence, previous, hash, at, id, namespace, actor, face, address, request_id, reason, action, object_id, object_name,
        job_id, jobs, before, after, detail
    from taken
)
update sexton.audit_head as head
set sequence = last.sequence, hash = decode(last.hash, 'hex')
from (select sequence, hash from sealed order by sequence desc limit 1) as last
