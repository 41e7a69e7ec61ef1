-- Keep the idempotency keys that node $1 has made from the templates of its runs: they stay the same from now on, and go to
-- history and dead letters with the run.
update sexton.runs as run
set idempotency_key = made.key
from (
    select * from unnest($2::bigint[], $3::integer[], $4::text[]) as made (id, claim, key) order by made.id
) as made
where run.id = made.id and run.claim = made.claim and run.node = $1 and run.idempotency_key is null
