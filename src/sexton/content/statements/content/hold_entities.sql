-- One plan for an entity is made after the other, so that each sees the others. Of many, always in the same order.
select pg_advisory_xact_lock(key)
from (select distinct hashtextextended(entity, :seed) as key from unnest(:entities::text[]) as entity order by key) as entity
