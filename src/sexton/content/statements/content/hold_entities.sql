-- Lock entities, so that plans for one entity are made one after the other and each sees the others. Locks are always taken in the
-- same order.
select pg_advisory_xact_lock(key)
from (select distinct hashtextextended(entity, :seed) as key from unnest(:entities::text[]) as entity order by key) as entity
