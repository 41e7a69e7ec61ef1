-- The zone of a recipient, else of the namespace; null: no zone is known.
select coalesce(
    (select recipient.timezone from sexton.recipients as recipient where recipient.namespace = :namespace and recipient.user_id = :user_id),
    (select settings.timezone from sexton.notification_settings as settings where settings.namespace = :namespace)
)
