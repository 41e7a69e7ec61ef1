-- Sessions and links that ended more than a day ago.
with links as (
    delete from sexton.sign_in_links
    where expires_at < coalesce(:now::timestamptz, clock_timestamp()) - interval '1 day'
)
delete from sexton.sessions
where expires_at < coalesce(:now::timestamptz, clock_timestamp()) - interval '1 day'
