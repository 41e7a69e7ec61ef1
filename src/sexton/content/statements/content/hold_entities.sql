-- As hold_entity, of many at once: always in the same order.
select pg_advisory_xact_lock(key)
from (select distinct hashtextextended(entity, :seed) as key from unnest(:entities::text[]) as entity order by key) as entity
