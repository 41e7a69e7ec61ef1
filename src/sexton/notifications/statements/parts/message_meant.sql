-- Whether a row of `messages` may match a filter. Only the chunk shows whether a message is being submitted; it is not read here.
(:statuses::text[] is null or messages.status = any (:statuses::text[]) or 'processing' = any (:statuses::text[]))
    and (:template_id::text is null or messages.template_id = :template_id)
    and (:campaign_id::bigint is null or messages.campaign_id = :campaign_id)
