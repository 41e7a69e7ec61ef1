-- The schedulers lead again; they are told.
with ended as (delete from sexton.settings where name = 'resharding')
select pg_notify('sexton_shards', '')
