insert into sexton.suppressions (namespace, channel, address, reason, since)
select :namespace, :channel, given.address, given.reason, coalesce(:now::timestamptz, clock_timestamp())
from unnest(:addresses::text[], :reasons::text[]) as given (address, reason)
on conflict (namespace, channel, address) do nothing
