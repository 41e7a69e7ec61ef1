-- Pause or resume a queue, and notify workers. A queue that is paused already keeps the time of its pause.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
made as (
    insert into sexton.queues as queue (namespace, name, paused_at, paused_reason, refilled_at, updated_at)
    select :namespace, :name, case when :paused::boolean then now end, case when :paused then :reason end, now, now from moment
    on conflict (namespace, name) do update
    set paused_at = case when :paused then coalesce(queue.paused_at, excluded.paused_at) end,
        paused_reason = excluded.paused_reason,
        updated_at = excluded.updated_at
    returning name
)
select pg_notify('sexton_lanes', '') from made
