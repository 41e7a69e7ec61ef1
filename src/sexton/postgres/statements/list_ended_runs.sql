-- What has ended of all jobs in a range of recording time, the latest first: $1 after this, $2 up to this, $3 $4 the
-- place after which to go on (or nulls), $5 statuses, $6 triggers or null, $7 how many. The caller widens the range
-- step by step, because history is ordered by job.
select
-- include: ended_runs
where h.recorded_at > $1 and h.recorded_at <= $2
    and ($3::bigint is null or (h.recorded_at, coalesce(h.run_id, 0), h.scheduled_at) < ($2, $3, $4::timestamptz))
    and h.status = any ($5::text[])
    and ($6::text[] is null or h.trigger = any ($6))
order by h.recorded_at desc, coalesce(h.run_id, 0) desc, h.scheduled_at desc
limit $7
