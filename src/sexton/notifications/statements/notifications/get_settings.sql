select timezone, locale, quiet_hours::text, quiet_passes, caps::text, now_job_id, sweep_job_id
from sexton.notification_settings
where namespace = :namespace
