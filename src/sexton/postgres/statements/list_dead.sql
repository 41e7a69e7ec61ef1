-- Dead letters, the latest first: $1 job or null, $2 group or null, $3 reason or null, $4 $5 the place after which to
-- go on (or nulls), $6 how many.
select
-- include: dead_letters
where ($1::bigint is null or d.job_id = $1)
    and ($2::text is null or d.error_group = $2)
    and ($3::text is null or d.reason = $3)
    and ($4::timestamptz is null or (d.died_at, d.run_id) < ($4, $5::bigint))
order by d.died_at desc, d.run_id desc
limit $6
