-- Dead letters that match a filter, for counting; a filter that is null does not apply, :most may be null.
select d.run_id
from sexton.dead d
join sexton.jobs j on j.id = d.job_id
where j.namespace = :namespace and (:job_id::bigint is null or d.job_id = :job_id)
    and (:error_group::text is null or d.error_group = :error_group)
    and (:reason::text is null or d.reason = :reason)
    and (:died_until::timestamptz is null or d.died_at <= :died_until)
limit :most
