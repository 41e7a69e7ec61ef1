-- Let the schedulers lead again, and notify them.
with ended as (delete from sexton.settings where name = 'resharding')
select pg_notify('sexton_shards', '')
