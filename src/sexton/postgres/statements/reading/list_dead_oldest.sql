-- As list_dead, the oldest first.
select
-- include: dead_letters
where j.namespace = :namespace and (:job_id::bigint is null or d.job_id = :job_id)
    and (:error_group::text is null or d.error_group = :error_group)
    and (:reason::text is null or d.reason = :reason)
    and (:died_at::timestamptz is null or (d.died_at, d.run_id) > (:died_at, :run_id::bigint))
order by d.died_at, d.run_id
limit :limit
