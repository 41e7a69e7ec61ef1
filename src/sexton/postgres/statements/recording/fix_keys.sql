-- Store the idempotency keys that a node has made from the templates of its runs: they never change again, and go to
-- history and dead letters with the run.
update sexton.runs as run
set idempotency_key = made.key
from (
    select * from unnest(:runs::bigint[], :claims::integer[], :keys::text[]) as made (id, claim, key) order by made.id
) as made
where run.id = made.id and run.claim = made.claim and run.node = :node and run.idempotency_key is null
