-- The messages that reports are about: by their own number, or by the provider's id.
select given.place, messages.id,
-- include: message_status
    as status, messages.user_id,
    messages.channels[messages.channel_index + 1] as channel,
    coalesce(
        case jsonb_typeof(messages.address) when 'string' then messages.address #>> '{}' end,
        case messages.channels[messages.channel_index + 1] when 'email' then recipient.email when 'sms' then recipient.phone end
    ) as address
from unnest(:places::int[], :message_ids::bigint[], :provider_ids::text[]) as given (place, message_id, provider_id)
left join sexton.message_receipts receipt
    on receipt.namespace = :namespace and receipt.provider = :provider and receipt.provider_id = given.provider_id
join sexton.messages on messages.id = coalesce(given.message_id, receipt.message_id)
left join sexton.recipients recipient on recipient.namespace = messages.namespace and recipient.user_id = messages.user_id
where messages.namespace = :namespace
    and (messages.provider is null or messages.provider = :provider)
