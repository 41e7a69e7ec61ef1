-- Gives `chosen`: the chunks of a campaign with messages that may have been sent, or the chunk of one message.
chosen as materialized (
    select chunk.number, chunk.first_id, chunk.last_id
    from sexton.campaign_chunks as chunk
    where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace
        and (chunk.unconfirmed > 0 or :message_id::bigint between chunk.first_id and chunk.last_id)
    order by chunk.number
    for no key update
),
