-- Lock the jobs among these that no other transaction has locked, until the end of the transaction.
select id from sexton.jobs where id = any (:jobs::bigint[]) order by id for no key update skip locked
