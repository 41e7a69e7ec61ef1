-- Add an opt-out to a recipient, unless it is there.
update sexton.recipients
set opt_outs = coalesce(opt_outs, '[]') || :opt_out::jsonb, updated_at = coalesce(:now::timestamptz, clock_timestamp())
where namespace = :namespace and user_id = :user_id and not coalesce(opt_outs, '[]') @> :opt_out::jsonb
returning true
