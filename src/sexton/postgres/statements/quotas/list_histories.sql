-- The namespaces that keep their history for fewer days than the :keep_days of the cluster, and the day on which each history begins.
select name, history_begins,
    ((coalesce(:now::timestamptz, clock_timestamp()) at time zone 'UTC')::date - history_days) as begins
from sexton.namespaces
where history_days < :keep_days::integer
    and history_begins is distinct from ((coalesce(:now::timestamptz, clock_timestamp()) at time zone 'UTC')::date - history_days)
order by name
