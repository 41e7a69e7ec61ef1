-- In how many seconds a provider with a rate may send the next message.
select greatest(0, extract(epoch from next_at - coalesce(:now::timestamptz, clock_timestamp())))::float8
from sexton.notification_health
where namespace = :namespace and name = :name and channel = :channel
