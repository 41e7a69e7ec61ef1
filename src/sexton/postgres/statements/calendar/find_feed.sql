-- Of whatever namespace: only who has the secret has its hash.
select * from sexton.calendar_feeds where hash = :hash and revoked_at is null
