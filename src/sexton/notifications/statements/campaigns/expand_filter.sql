-- Write the next slice of a campaign's audience: recipients of the namespace that meet a filter, in the order of their numbers.
with slice as materialized (
    select recipient.*, null::jsonb as member_vars
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
suppressing as materialized (
    select exists (select from sexton.suppressions where namespace = :namespace) as any
),
picked as materialized (
    select one.number as place, one.user_id,
-- include: audience_columns
    from one
),
-- include: expand
    (select max(slice.number) from slice) as reached,
    (select count(*) from slice) as looked_at,
    0::bigint as unknown
