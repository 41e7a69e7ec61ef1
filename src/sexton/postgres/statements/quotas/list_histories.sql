-- The namespaces whose history is to be shorter than the :keep_days of the cluster, and from which day on they have theirs.
select name, history_begins,
    ((coalesce(:now::timestamptz, clock_timestamp()) at time zone 'UTC')::date - history_days) as begins
from sexton.namespaces
where history_days < :keep_days::integer
    and history_begins is distinct from ((coalesce(:now::timestamptz, clock_timestamp()) at time zone 'UTC')::date - history_days)
order by name
