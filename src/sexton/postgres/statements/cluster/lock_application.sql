-- Lock the name of an application, so that its workers join one after the other.
select pg_advisory_xact_lock(hashtextextended(:app, :seed))
