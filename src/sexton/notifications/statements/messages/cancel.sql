-- Cancel locked messages; those of campaigns are counted in their chunks, which are locked, too.
with ended as (
    update sexton.messages
    set status = 'cancelled', due_at = null, hold_reason = null, settled_at = :now::timestamptz
    where namespace = :namespace and id = any (:message_ids::bigint[])
    returning id, campaign_id
),
untimed as (
    delete from sexton.message_timers where message_id in (select id from ended)
),
counted as (
    update sexton.campaign_chunks as chunk
    set cancelled = chunk.cancelled + found.cancelled, changed_at = :now::timestamptz
    from (
        select part.campaign_id, part.number, count(*) as cancelled
        from ended
        join sexton.campaign_chunks as part
            on part.campaign_id = ended.campaign_id and ended.id between part.first_id and part.last_id
        group by part.campaign_id, part.number
    ) as found
    where chunk.campaign_id = found.campaign_id and chunk.number = found.number and chunk.namespace = :namespace
)
insert into sexton.message_events (namespace, message_id, at, kind, detail)
select :namespace, id, :now::timestamptz, 'cancelled', :detail::text::jsonb from ended
