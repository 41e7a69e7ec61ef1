update sexton.content_releases
set done_at = case when :failed then done_at else clock_timestamp() end,
    failed_at = case when :failed then coalesce(failed_at, clock_timestamp()) end,
    error = :error, begun_run = :run_id
where id = :release_id and namespace = :namespace
