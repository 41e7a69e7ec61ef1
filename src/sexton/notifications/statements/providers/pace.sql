-- Reserve this many messages of a provider's rate, which all processes share; returns in how many seconds the first may be sent.
-- The messages of one second may be sent at once.
insert into sexton.notification_health as health (namespace, name, channel, next_at)
values (
    :namespace, :name, :channel,
    coalesce(:now::timestamptz, clock_timestamp()) + make_interval(secs => :wanted::int / :rate::float8 - 1)
)
on conflict (namespace, name, channel) do update
set next_at = greatest(
        coalesce(health.next_at, '-infinity'), coalesce(:now::timestamptz, clock_timestamp()) - interval '1 second'
    ) + make_interval(secs => :wanted::int / :rate::float8)
where coalesce(health.next_at, '-infinity') <= coalesce(:now::timestamptz, clock_timestamp()) + make_interval(secs => :patience::float8)
returning extract(epoch from next_at - coalesce(:now::timestamptz, clock_timestamp()))::float8 - :wanted::int / :rate::float8
