-- Stop handing out the runs of a queue, or go on ($3 false); workers are told. One that is paused already stays so since
-- it was. $1 namespace, $2 name, $3 whether, $4 reason, $5 now
with moment as materialized (select coalesce($5::timestamptz, clock_timestamp()) as now),
made as (
    insert into sexton.queues as queue (namespace, name, paused_at, paused_reason, refilled_at, updated_at)
    select $1, $2, case when $3::boolean then now end, case when $3 then $4 end, now, now from moment
    on conflict (namespace, name) do update
    set paused_at = case when $3 then coalesce(queue.paused_at, excluded.paused_at) end,
        paused_reason = excluded.paused_reason,
        updated_at = excluded.updated_at
    returning name
)
select pg_notify('sexton_lanes', '') from made
