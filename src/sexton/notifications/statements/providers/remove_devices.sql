-- Remove devices that no longer exist from their recipients.
update sexton.recipients recipient
set devices = (
        select jsonb_agg(device order by place)
        from jsonb_array_elements(recipient.devices) with ordinality as kept (device, place)
        where not device = any (gone.devices)
    ),
    updated_at = coalesce(:now::timestamptz, clock_timestamp())
from (
    select given.user_id, array_agg(given.device) as devices
    from unnest(:user_ids::text[], :devices::text[]::jsonb[]) as given (user_id, device)
    group by given.user_id
) gone
where recipient.namespace = :namespace and recipient.user_id = gone.user_id and jsonb_typeof(recipient.devices) = 'array'
