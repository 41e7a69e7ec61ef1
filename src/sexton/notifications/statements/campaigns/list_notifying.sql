-- Namespaces that send messages: the first message of one makes its settings.
select namespace from sexton.notification_settings where sweep_job_id is not null
union
select namespace from sexton.campaigns where status in ('preparing', 'prepared', 'sending')
order by namespace
limit :limit
