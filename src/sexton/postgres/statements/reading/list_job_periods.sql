-- The earlier definitions of a job, the oldest first; no more than the latest hundred.
select revision, definition::text, valid_until
from (
    select revision, definition, valid_until
    from sexton.job_revisions
    where job_id = :job_id
    order by revision desc
    limit 100
) latest
order by revision
