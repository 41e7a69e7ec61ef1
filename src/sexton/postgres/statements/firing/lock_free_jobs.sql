-- Lock those of some jobs that are not locked, until the end of the transaction.
select id from sexton.jobs where id = any (:jobs::bigint[]) order by id for no key update skip locked
