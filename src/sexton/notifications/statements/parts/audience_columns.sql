-- Expects `one` with columns of a recipient and `member_vars`. The first filled of these channels can reach her: she has an address there,
-- it is not suppressed, and she has not opted out.
coalesce(one.timezone, :timezone) as zone,
case when :needed::text[] = '{}' then one.member_vars else (
    select coalesce(jsonb_object_agg(name, one.fields -> name) filter (where one.fields ? name), '{}')
    from unnest(:needed::text[]) as name
) || coalesce(one.member_vars, '{}') end as own_vars,
:needed::text[] = '{}' or (coalesce(one.fields, '{}') || coalesce(one.member_vars, '{}')) ?& :needed::text[] as complete,
exists (
    select from unnest(:channels::text[]) as channel
    where case channel
            when 'email' then one.email is not null
            when 'sms' then one.phone is not null
            when 'push' then coalesce(jsonb_array_length(one.devices), 0) > 0
            when 'in_app' then true
            else coalesce(one.addresses ? channel, false)
        end
        and not exists (
            select from sexton.suppressions as suppression
            where suppression.namespace = :namespace and suppression.channel = channel
                and suppression.address = lower(case channel when 'email' then one.email when 'sms' then one.phone end)
        )
        and not exists (
            select from jsonb_array_elements(one.opt_outs) as choice
            where coalesce(choice ->> 'channel', channel) = channel
                and coalesce(choice ->> 'topic', :topic) is not distinct from :topic
                and (choice ->> 'channel' is not null or choice ->> 'topic' is not null)
        )
) as reachable
