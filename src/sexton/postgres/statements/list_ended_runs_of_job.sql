-- What has ended of one job, the latest first: $1 job, $2 $3 $4 the place after which to go on (or nulls), $5 statuses,
-- $6 triggers or null, $7 how many. Skipped occurrences are rows without a run.
select
-- include: ended_runs
where h.job_id = $1
    and h.recorded_at <= coalesce($2::timestamptz, 'infinity')
    and ($2::timestamptz is null or (h.recorded_at, coalesce(h.run_id, 0), h.scheduled_at) < ($2, $3::bigint, $4::timestamptz))
    and h.status = any ($5::text[])
    and ($6::text[] is null or h.trigger = any ($6))
order by h.recorded_at desc, coalesce(h.run_id, 0) desc, h.scheduled_at desc
limit $7
