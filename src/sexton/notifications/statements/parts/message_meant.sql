-- Whether a row of `messages` may be one that a filter means: what is seen without its chunk, which says whether it is being submitted.
(:statuses::text[] is null or messages.status = any (:statuses::text[]) or 'processing' = any (:statuses::text[]))
    and (:template_id::text is null or messages.template_id = :template_id)
    and (:campaign_id::bigint is null or messages.campaign_id = :campaign_id)
