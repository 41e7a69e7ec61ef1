-- How many died in each of the last 24 hours, by what they died of and how; 0 is the oldest hour, 23 the one before now.
select d.error_group, d.reason, 23 - floor(extract(epoch from (coalesce(:now::timestamptz, clock_timestamp()) - d.died_at)) / 3600)::int as hour,
    count(*)::int as letters
from sexton.dead d
join sexton.jobs j on j.id = d.job_id
where d.died_at > coalesce(:now::timestamptz, clock_timestamp()) - interval '24 hours' and d.died_at <= coalesce(:now::timestamptz, clock_timestamp())
    and j.namespace = :namespace and (:job_id::bigint is null or d.job_id = :job_id)
group by 1, 2, 3
