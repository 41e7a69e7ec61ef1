-- Whether a row of `messages` is one that a filter means; `shown` is its status as people see it.
(:statuses::text[] is null or messages.shown = any (:statuses::text[]))
    and (:template_id::text is null or messages.template_id = :template_id)
    and (:campaign_id::bigint is null or messages.campaign_id = :campaign_id)
