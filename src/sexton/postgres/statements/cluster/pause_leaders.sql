-- No scheduler leads any shard until :seconds from now, or until cluster/end_pause. Notifies the schedulers.
with paused as (
    insert into sexton.settings (name, value)
    select 'resharding', to_jsonb(extract(epoch from clock_timestamp())::float8 + :seconds::float8)
    on conflict (name) do update set value = excluded.value
    returning value
)
select pg_notify('sexton_shards', '') from paused
