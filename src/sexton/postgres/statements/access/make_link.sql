-- Make a link that lets a browser sign in once.
insert into sexton.sign_in_links (hash, name, credential, key_id, grants, created_at, expires_at)
select :hash, :name, :credential, :key_id, :grants::jsonb, now, now + :seconds::float8 * interval '1 second'
from (values (coalesce(:now, clock_timestamp()))) as time (now)
returning expires_at
