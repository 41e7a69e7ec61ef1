-- Gives `slice` and `one`: the next recipients of the namespace in the order of their numbers, and those of them that match a filter.
slice as materialized (
    select recipient.number as place, recipient.*, null::jsonb as member_vars
    from sexton.recipients as recipient
    where recipient.namespace = :namespace and recipient.number > :after
    order by recipient.number
    limit :limit
),
one as (
    select slice.*
    from slice
    where :filter::text is null or jsonb_path_match(
        jsonb_strip_nulls(jsonb_build_object(
            'user_id', slice.user_id, 'email', slice.email, 'phone', slice.phone, 'timezone', slice.timezone, 'locale', slice.locale
        )) || jsonb_build_object('fields', coalesce(slice.fields, '{}')),
        :filter::text::jsonpath, '{}', true
    )
),
