-- Which jobs send for the namespace.
insert into sexton.notification_settings as settings (namespace, now_job_id, sweep_job_id, changed_by, changed_at)
values (:namespace, :now_job_id, :sweep_job_id, 'sexton', coalesce(:now::timestamptz, clock_timestamp()))
on conflict (namespace) do update
set now_job_id = excluded.now_job_id, sweep_job_id = excluded.sweep_job_id
