-- Recipients enter a sequence one after the other.
select id from sexton.sequences where id = :id and namespace = :namespace for no key update
