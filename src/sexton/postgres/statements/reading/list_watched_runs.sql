-- The states of watched live runs: by their ids, and of each watched job the latest :each.
select run.id, run.job_id, run.state, run.attempt, run.claim, run.progress::text as progress
from sexton.runs as run
where run.id = any (:run_ids::bigint[])
union
select latest.id, latest.job_id, latest.state, latest.attempt, latest.claim, latest.progress::text
from unnest(:job_ids::bigint[]) as watched (id)
cross join lateral (
    select run.id, run.job_id, run.state, run.attempt, run.claim, run.progress
    from sexton.runs as run
    where run.job_id = watched.id
    order by run.scheduled_at desc
    limit :each
) as latest
