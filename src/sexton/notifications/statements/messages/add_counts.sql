update sexton.recipient_counts as counted
set n = greatest(0, counted.n + given.n)
from unnest(:users::text[], :subjects::text[], :periods::date[], :counts::int[]) as given (user_id, subject, period_start, n)
where counted.namespace = :namespace
    and counted.user_id = given.user_id
    and counted.subject = given.subject
    and counted.period_start = given.period_start
