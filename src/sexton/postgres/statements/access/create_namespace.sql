-- Make a namespace, unless it exists.
with changed as (update sexton.access_version set version = version + 1)
insert into sexton.namespaces (name, description, created_at)
values (:name, :description, coalesce(:now, clock_timestamp()))
on conflict do nothing
returning name, description, created_at, jobs, live_runs, firings_per_second, payload_bytes, history_days,
    campaign_sends_per_day
