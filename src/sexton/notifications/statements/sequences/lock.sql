-- Lock a sequence, so that recipients enter it one after the other.
select id from sexton.sequences where id = :id and namespace = :namespace for no key update
