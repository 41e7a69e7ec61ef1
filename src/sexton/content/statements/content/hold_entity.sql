-- One plan for an entity is made after the other, so that each sees the others.
select pg_advisory_xact_lock(hashtextextended(:entity, :seed))
