-- Send messages of a campaign, which is locked, again if they may have been sent: all of them, or one.
-- Their chunks are ready again; one that is open finds them when it closes.
with
-- include: unconfirmed_chunks
before as materialized (
    select message.id, message.status, chosen.number
    from chosen
    join sexton.messages as message on message.id between chosen.first_id and chosen.last_id and message.campaign_id = :campaign_id
    where message.namespace = :namespace and message.status = any (:statuses::text[])
        and (:message_id::bigint is null or message.id = :message_id)
    order by message.id
    for update of message
),
again as (
    update sexton.messages as message
    set status = 'pending', due_at = :now::timestamptz, retry_count = 0, settled_at = null, failure_reason = null, expires_at = null,
        channel_at = null, run_id = null
    from before
    where message.id = before.id and message.namespace = :namespace
    returning message.id
),
told as (
    insert into sexton.message_events (namespace, message_id, at, kind, detail)
    select :namespace, again.id, :now, 'resent', :detail::jsonb from again
),
counted as (
    select before.number, count(*) as n, count(*) filter (where before.status = 'unconfirmed') as unconfirmed,
        count(*) filter (where before.status = 'failed') as failed
    from before
    group by before.number
)
update sexton.campaign_chunks as chunk
set unconfirmed = chunk.unconfirmed - counted.unconfirmed, failed = chunk.failed - counted.failed,
    state = case chunk.state when 'done' then 'ready' else chunk.state end,
    next_at = case chunk.state when 'done' then :now else least(chunk.next_at, :now) end, changed_at = :now
from counted
where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.number = counted.number
returning counted.n
