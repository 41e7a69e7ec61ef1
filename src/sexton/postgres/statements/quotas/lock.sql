-- Lock the quotas of a namespace until the transaction ends.
select name, description, created_at, jobs, live_runs, firings_per_second, payload_bytes, history_days, campaign_sends_per_day
from sexton.namespaces
where name = :namespace
for no key update
