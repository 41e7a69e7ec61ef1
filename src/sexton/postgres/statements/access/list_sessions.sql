-- The sessions of a credential (null: of all) that have not ended, the latest first.
select id, name, method, address, agent, created_at, used_at, expires_at
from sexton.sessions
where ended_at is null
    and expires_at > coalesce(:now, clock_timestamp())
    and used_at > coalesce(:now, clock_timestamp()) - :idle_seconds::float8 * interval '1 second'
    and (:credential::text is null or credential = :credential)
    and id < :before
order by id desc
limit :limit
