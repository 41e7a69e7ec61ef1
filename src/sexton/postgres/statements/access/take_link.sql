-- Use a link up. No row: the link has expired, or the API key that made it has ended.
with taken as (
    delete from sexton.sign_in_links where hash = :hash
    returning name, credential, key_id, grants, expires_at
)
select taken.name, taken.credential, taken.key_id, taken.grants::text as grants
from taken
left join sexton.keys as key on key.id = taken.key_id
where taken.expires_at > coalesce(:now, clock_timestamp())
    and (taken.key_id is null or (key.id is not null and key.revoked_at is null
        and (key.expires_at is null or key.expires_at > coalesce(:now, clock_timestamp()))))
