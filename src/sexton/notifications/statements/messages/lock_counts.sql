-- Lock the counters of messages of recipients, in one order; a missing counter is created.
insert into sexton.recipient_counts as counted (namespace, user_id, subject, period_start, n)
select :namespace, user_id, subject, period_start, 0
from unnest(:users::text[], :subjects::text[], :periods::date[]) as wanted (user_id, subject, period_start)
order by user_id, subject, period_start
on conflict (namespace, user_id, subject, period_start) do update set n = counted.n
returning user_id, subject, period_start, n
