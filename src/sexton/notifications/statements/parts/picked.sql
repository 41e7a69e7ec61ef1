-- Expects `one` with columns of a recipient, `place` and `member_vars`. A channel can reach a recipient who has
-- an address there that is not suppressed, and has not opted out; none reaches one who is suppressed. Nearly all recipients have no preferences; for them the columns suffice.
suppressing as materialized (
    select exists (select from sexton.suppressions where namespace = :namespace) as any
),
picked as materialized (
    select one.place, one.user_id,
        coalesce(one.timezone, :timezone) as zone,
        one.member_vars as own_vars,
        case
            when :needed::text[] = '{}' then true
            when one.member_vars is null then coalesce(one.fields ?& :needed::text[], false)
            else (coalesce(one.fields, '{}') || one.member_vars) ?& :needed::text[]
        end as complete,
        case
            when one.suppressed_at is not null then false
            when one.opt_outs is null and not (select suppressing.any from suppressing) and (
                ('email' = any (:channels::text[]) and one.email is not null)
                or ('sms' = any (:channels::text[]) and one.phone is not null)
                or 'in_app' = any (:channels::text[])
            ) then true
            else exists (
                select from unnest(:channels::text[]) as way (name)
                where case way.name
                        when 'email' then one.email is not null
                        when 'sms' then one.phone is not null
                        when 'push' then coalesce(jsonb_array_length(one.devices), 0) > 0
                        when 'in_app' then true
                        else coalesce(one.addresses ? way.name, false)
                    end
                    and not exists (
                        select from sexton.suppressions as suppression
                        where suppression.namespace = :namespace and suppression.channel = way.name
                            and suppression.address = case way.name
                                when 'email' then lower(one.email) when 'sms' then one.phone else one.addresses ->> way.name
                            end
                    )
                    and not exists (
                        select from jsonb_array_elements(one.opt_outs) as choice
                        where coalesce(choice ->> 'channel', way.name) = way.name
                            and coalesce(choice ->> 'topic', :topic) is not distinct from :topic
                            and (choice ->> 'channel' is not null or choice ->> 'topic' is not null)
                    )
            )
        end as reachable
    from one
),
