-- Lock the timers of these jobs that no other transaction has locked, until the end of the transaction.
select job_id from sexton.timers where job_id = any (:jobs::bigint[]) order by job_id for update skip locked
