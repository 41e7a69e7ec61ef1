-- All live runs, the newest first: $1 only runs with a smaller id, $2 states or null, $3 triggers or null, $4 how many.
select
-- include: live_runs
where ($1::bigint is null or r.id < $1)
    and ($2::text[] is null or r.state = any ($2))
    and ($3::text[] is null or r.trigger = any ($3))
order by r.id desc
limit $4
