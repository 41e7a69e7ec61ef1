-- Make or change recipients; null leaves a value as it is, and own fields are merged. Returns how many are new.
with given as materialized (
    select *
    from unnest(
        :user_ids::text[], :emails::text[], :phones::text[], :devices::text[], :addresses::text[], :timezones::text[],
        :locales::text[], :quiet_hours::text[], :opt_outs::text[], :caps::text[], :fields::text[]
    ) as line (
        user_id, email, phone, devices, addresses, timezone, locale, quiet_hours, opt_outs, caps, fields
    )
),
put as (
    insert into sexton.recipients as recipient (
        namespace, user_id, email, phone, devices, addresses, timezone, locale, quiet_hours, opt_outs, caps, fields,
        created_at, updated_at
    )
    select :namespace, user_id, email, phone, devices::jsonb, addresses::jsonb, timezone, locale, quiet_hours::jsonb,
           opt_outs::jsonb, caps::jsonb, fields::jsonb,
           coalesce(:now::timestamptz, statement_timestamp()), coalesce(:now::timestamptz, statement_timestamp())
    from given
    on conflict (namespace, user_id) do update
    set email = coalesce(excluded.email, recipient.email),
        phone = coalesce(excluded.phone, recipient.phone),
        devices = coalesce(excluded.devices, recipient.devices),
        addresses = coalesce(excluded.addresses, recipient.addresses),
        timezone = coalesce(excluded.timezone, recipient.timezone),
        locale = coalesce(excluded.locale, recipient.locale),
        quiet_hours = coalesce(excluded.quiet_hours, recipient.quiet_hours),
        opt_outs = coalesce(excluded.opt_outs, recipient.opt_outs),
        caps = coalesce(excluded.caps, recipient.caps),
        fields = coalesce(recipient.fields || excluded.fields, excluded.fields, recipient.fields),
        updated_at = excluded.updated_at
    returning xmax = 0 as created
)
select count(*) filter (where created) from put
