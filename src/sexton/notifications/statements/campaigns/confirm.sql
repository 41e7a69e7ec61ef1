-- Count messages of a campaign, which is locked, as sent if they may have been sent: all of them, or one.
with
-- include: unconfirmed_chunks
confirmed as (
    update sexton.messages as message
    set status = 'sent', sent_at = coalesce(message.submitted_at, :now), settled_at = :now, due_at = null, failure_reason = null
    from chosen
    where message.id between chosen.first_id and chosen.last_id and message.campaign_id = :campaign_id
        and message.namespace = :namespace and message.status = 'unconfirmed'
        and (:message_id::bigint is null or message.id = :message_id)
    returning message.id, chosen.number
),
told as (
    insert into sexton.message_events (namespace, message_id, at, kind, detail)
    select :namespace, confirmed.id, :now, 'confirmed', :detail::jsonb from confirmed
),
counted as (
    select confirmed.number, count(*) as n from confirmed group by confirmed.number
)
update sexton.campaign_chunks as chunk
set unconfirmed = chunk.unconfirmed - counted.n, sent = chunk.sent + counted.n, changed_at = :now
from counted
where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.number = counted.number
returning counted.n
