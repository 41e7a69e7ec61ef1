-- The limits of a queue; workers are told. A bucket that is new is full, one that was there keeps what it had.
-- $1 namespace, $2 name, $3 concurrency, $4 per key, $5 rate, $6 burst, $7 now
with moment as materialized (
    select coalesce($7::timestamptz, clock_timestamp()) as now, coalesce($6::integer, greatest(ceil($5::float8), 1), 0) as most
),
made as (
    insert into sexton.queues as queue (
        namespace, name, concurrency, key_concurrency, rate, burst, tokens, refilled_at, updated_at
    )
    select $1, $2, $3, $4, $5, $6, most, now, now from moment
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
