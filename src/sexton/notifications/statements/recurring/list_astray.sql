-- Recurring notifications that follow the zones of these recipients, but still have another zone.
select schedule.*, coalesce(recipient.timezone, settings.timezone, 'UTC') as wanted
from sexton.notification_schedules as schedule
join sexton.recipients as recipient on recipient.namespace = schedule.namespace and recipient.user_id = schedule.user_id
left join sexton.notification_settings as settings on settings.namespace = schedule.namespace
where schedule.namespace = :namespace and schedule.user_id = any (:user_ids::text[]) and schedule.timezone is null
    and schedule.deleted_at is null and schedule.zone <> coalesce(recipient.timezone, settings.timezone, 'UTC')
order by schedule.id
limit :limit
for no key update of schedule
