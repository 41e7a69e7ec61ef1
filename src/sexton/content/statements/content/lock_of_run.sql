-- The job of the run must be that of the action: a payload alone proves nothing.
select * from sexton.content_schedules where id = :schedule_id and job_id = :job_id for update
