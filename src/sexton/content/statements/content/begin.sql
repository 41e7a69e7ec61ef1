-- Begin a try. The state of the entity before the action is recorded at the first try of an occurrence.
update sexton.content_schedules
set begun_at = :scheduled_at, begun_run = :run_id,
    state_before = case when begun_at = :scheduled_at then state_before end,
    version_before = case when begun_at = :scheduled_at then version_before end
where id = :schedule_id
