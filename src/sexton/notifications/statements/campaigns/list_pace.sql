-- What became of the latest messages of a campaign, by minute, channel and state. Of parts that have not changed since `left_out_at` nothing is
-- read: what was sent after that is all here.
with ordered as materialized (
    select chunk.first_id, chunk.last_id, chunk.changed_at,
        sum(chunk.size) over (order by chunk.changed_at desc, chunk.number) - chunk.size as before
    from sexton.campaign_chunks as chunk
    where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace
),
left_out as (
    select max(changed_at) as at from ordered where before > :most
)
select date_trunc('minute', message.sent_at) as minute, message.channels[message.channel_index + 1] as channel, message.status,
    message.hold_reason, count(*) as messages, (select at from left_out) as left_out_at
from ordered
join sexton.messages as message on message.id between ordered.first_id and ordered.last_id
where ordered.before <= :most and message.campaign_id = :campaign_id
group by 1, 2, 3, 4
