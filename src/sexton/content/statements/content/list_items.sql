select * from sexton.content_schedules
where release_id = :release_id and namespace = :namespace and cancelled_at is null
order by place
