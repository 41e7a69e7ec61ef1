-- The first :share messages of a campaign, in the order of their times, go first: their chunks are marked, and the last of them is cut.
with ordered as materialized (
    select chunk.*, sum(chunk.size) over (order by chunk.due_at, chunk.number) as upto
    from sexton.campaign_chunks as chunk
    where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace
),
cut as materialized (
    select ordered.number, ordered.namespace, ordered.last_id, ordered.size, ordered.due_at, ordered.next_at,
        :share::bigint - (ordered.upto - ordered.size) as keep,
        (
            select message.id
            from sexton.messages as message
            where message.id between ordered.first_id and ordered.last_id and message.campaign_id is not distinct from :campaign_id
            order by message.id
            offset :share::bigint - (ordered.upto - ordered.size) - 1
            limit 1
        ) as last_kept
    from ordered
    where ordered.upto > :share and ordered.upto - ordered.size < :share
),
rest as (
    insert into sexton.campaign_chunks (campaign_id, number, namespace, first_id, last_id, size, due_at, next_at, changed_at)
    select :campaign_id, :number::integer, cut.namespace, cut.last_kept + 1, cut.last_id, cut.size - cut.keep, cut.due_at, cut.next_at, :now
    from cut
    returning number
)
update sexton.campaign_chunks as chunk
set canary = true, last_id = coalesce(cut.last_kept, chunk.last_id), size = coalesce(cut.keep, chunk.size)
from ordered
left join cut on cut.number = ordered.number
where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.number = ordered.number
    and ordered.upto - ordered.size < :share
returning chunk.number, (select count(*) from rest) as added
