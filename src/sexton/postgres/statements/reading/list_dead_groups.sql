-- Dead letters by reason and group of errors, the largest group first; :job_id may be null.
select d.error_group, d.reason, count(*) as letters, count(distinct d.job_id) as jobs,
    min(d.died_at) as first_died_at, max(d.died_at) as last_died_at,
    (array_agg(d.error order by d.died_at desc))[1] as latest_error,
    (array_agg(d.run_id order by d.died_at desc))[1] as latest_run
from sexton.dead d
join sexton.jobs j on j.id = d.job_id
where j.namespace = :namespace and (:job_id::bigint is null or d.job_id = :job_id)
group by d.error_group, d.reason
order by count(*) desc, d.error_group, d.reason
limit :limit
