-- How many jobs there are in each status.
select status, count(*) as jobs from sexton.jobs where status <> 'deleted' group by status
