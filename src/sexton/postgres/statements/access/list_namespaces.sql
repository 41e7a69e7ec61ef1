-- Namespaces by name; :names null: all of them.
select name, description, created_at, jobs, live_runs, firings_per_second, payload_bytes, history_days, campaign_sends_per_day
from sexton.namespaces
where (:names::text[] is null or name = any (:names))
order by name
