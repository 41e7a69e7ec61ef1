-- The messages that reports are about: by their own number, or by the provider's name for them.
select given.place, message.id, message.status, message.user_id,
    message.channels[message.channel_index + 1] as channel,
    coalesce(
        case jsonb_typeof(message.address) when 'string' then message.address #>> '{}' end,
        case message.channels[message.channel_index + 1] when 'email' then recipient.email when 'sms' then recipient.phone end
    ) as address
from unnest(:places::int[], :message_ids::bigint[], :provider_ids::text[]) as given (place, message_id, provider_id)
left join sexton.message_receipts receipt
    on receipt.namespace = :namespace and receipt.provider = :provider and receipt.provider_id = given.provider_id
join sexton.messages message on message.id = coalesce(given.message_id, receipt.message_id)
left join sexton.recipients recipient on recipient.namespace = message.namespace and recipient.user_id = message.user_id
where message.namespace = :namespace
    and (message.provider is null or message.provider = :provider)
