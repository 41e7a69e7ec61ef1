-- How many runs died in each of the last 24 hours, by reason and group of errors; 0 is the oldest hour, 23 the last one. The clock is read once, so that
-- no letter of the oldest hour leaves it while the others are read.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now)
select d.error_group, d.reason, 23 - floor(extract(epoch from ((select now from moment) - d.died_at)) / 3600)::int as hour,
    count(*)::int as letters
from sexton.dead d
join sexton.jobs j on j.id = d.job_id
where d.died_at > (select now from moment) - interval '24 hours' and d.died_at <= (select now from moment)
    and j.namespace = :namespace and (:job_id::bigint is null or d.job_id = :job_id)
group by 1, 2, 3
