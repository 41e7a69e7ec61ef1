insert into sexton.suppressions (namespace, channel, address, reason, since)
values (:namespace, :channel, :address, :reason, coalesce(:now::timestamptz, clock_timestamp()))
on conflict (namespace, channel, address) do nothing
returning true
