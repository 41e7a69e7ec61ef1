-- Set the limits of a queue; workers are notified. A new bucket is full; an existing one keeps its tokens.
with moment as materialized (
    select coalesce(:now::timestamptz, clock_timestamp()) as now,
           coalesce(:burst::integer, greatest(ceil(:rate::float8), 1), 0) as most
),
made as (
    insert into sexton.queues as queue (
        namespace, name, concurrency, key_concurrency, rate, burst, tokens, refilled_at, updated_at
    )
    select :namespace, :name, :concurrency, :key_concurrency, :rate, :burst, most, now, now from moment
    on conflict (namespace, name) do update
    set concurrency = excluded.concurrency, key_concurrency = excluded.key_concurrency, rate = excluded.rate,
        burst = excluded.burst, refilled_at = excluded.refilled_at, updated_at = excluded.updated_at,
        tokens = case
            when queue.rate is null then excluded.tokens
            else least(
                excluded.tokens,
                queue.tokens + queue.rate * greatest(0, date_part('epoch', excluded.refilled_at - queue.refilled_at))
            )
        end
    returning name
)
select pg_notify('sexton_lanes', '') from made
