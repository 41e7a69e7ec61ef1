-- The feed of a secret, in any namespace: only a caller with the secret knows its hash.
select * from sexton.calendar_feeds where hash = :hash and revoked_at is null
