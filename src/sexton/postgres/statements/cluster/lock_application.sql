-- Workers that join under one name of an application do so one after the other.
select pg_advisory_xact_lock(hashtextextended(:app, :seed))
