-- Create or replace a recipient.
insert into sexton.recipients as recipient (
    namespace, user_id, email, phone, devices, addresses, timezone, locale, quiet_hours, opt_outs, caps, fields,
    created_at, updated_at
)
values (
    :namespace, :user_id, :email, :phone, :devices::text::jsonb, :addresses::text::jsonb, :timezone, :locale,
    :quiet_hours::text::jsonb, :opt_outs::text::jsonb, :caps::text::jsonb, :fields::text::jsonb,
    coalesce(:now::timestamptz, clock_timestamp()), coalesce(:now::timestamptz, clock_timestamp())
)
on conflict (namespace, user_id) do update
set email = excluded.email, phone = excluded.phone, devices = excluded.devices, addresses = excluded.addresses,
    timezone = excluded.timezone, locale = excluded.locale, quiet_hours = excluded.quiet_hours,
    opt_outs = excluded.opt_outs, caps = excluded.caps, fields = excluded.fields, updated_at = excluded.updated_at
returning xmax = 0 as created,
-- include: recipient_columns
