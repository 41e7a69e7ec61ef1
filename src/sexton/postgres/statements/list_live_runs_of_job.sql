-- The live runs of one job, the newest first: $1 job, $2 only runs with a smaller id, $3 states or null, $4 triggers
-- or null, $5 how many.
select
-- include: live_runs
where r.job_id = $1
    and ($2::bigint is null or r.id < $2)
    and ($3::text[] is null or r.state = any ($3))
    and ($4::text[] is null or r.trigger = any ($4))
order by r.id desc
limit $5
