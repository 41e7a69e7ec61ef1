-- The state of the entity before the action is recorded at the first try: a later try may find it changed.
update sexton.content_schedules
set begun_at = :scheduled_at, begun_run = :run_id,
    state_before = case when begun_at is null then :state_before else state_before end,
    version_before = case when begun_at is null then :version_before::integer else version_before end
where id = :schedule_id and namespace = :namespace
