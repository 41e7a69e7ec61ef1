insert into sexton.content_notices (namespace, job_id, url, secret, events, set_by, set_at)
values (:namespace, :job_id, :url, :secret, :events::text[], :actor, coalesce(:now::timestamptz, clock_timestamp()))
on conflict (namespace) do update
set job_id = excluded.job_id, url = excluded.url, secret = excluded.secret, events = excluded.events,
    set_by = excluded.set_by, set_at = excluded.set_at
