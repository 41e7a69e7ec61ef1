-- Sum counts that are older than two days by the hour.
with gone as (
    delete from sexton.activity
    where minute < date_trunc('hour', coalesce(:now::timestamptz, clock_timestamp()) - interval '2 days')
        and minute <> date_trunc('hour', minute)
    returning *
)
insert into sexton.activity as known (namespace, minute, status, late, runs)
select namespace, date_trunc('hour', minute), status, late, sum(runs)
from gone
group by 1, 2, 3, 4
on conflict (namespace, minute, status, late) do update set runs = known.runs + excluded.runs
