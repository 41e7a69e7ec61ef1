-- How many recipients match a filter, counted among the first :most of the namespace.
select count(*) as looked_at, count(*) filter (
    where jsonb_path_match(
        jsonb_strip_nulls(jsonb_build_object(
            'user_id', one.user_id, 'email', one.email, 'phone', one.phone, 'timezone', one.timezone, 'locale', one.locale
        )) || jsonb_build_object('fields', coalesce(one.fields, '{}')),
        :filter::text::jsonpath, '{}', true
    )
) as recipients
from (
    select recipient.*
    from sexton.recipients as recipient
    where recipient.namespace = :namespace
    order by recipient.number
    limit :most
) as one
