-- Record how many messages were settled, and how long a worker held them; remove minutes older than two days.
with gone as (
    delete from sexton.notification_meters
    where namespace = :namespace and part = :part and minute < date_trunc('minute', clock_timestamp()) - interval '2 days'
)
insert into sexton.notification_meters as meter (namespace, minute, part, settled, busy_seconds)
values (:namespace, date_trunc('minute', clock_timestamp()), :part, :settled, :busy_seconds)
on conflict (namespace, minute, part) do update
set settled = meter.settled + excluded.settled, busy_seconds = meter.busy_seconds + excluded.busy_seconds
