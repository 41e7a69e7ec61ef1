-- The namespaces that have a quota of runs.
select name from sexton.namespaces where live_runs is not null or firings_per_second is not null order by name
