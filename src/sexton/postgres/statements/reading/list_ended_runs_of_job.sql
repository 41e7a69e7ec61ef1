-- What has ended of one job, the latest first. :recorded_at, :run_id and :scheduled_at name the last row of the page before,
-- or are null; :triggers may be null. Skipped occurrences are rows without a run.
select
-- include: ended_runs
where h.job_id = :job_id
    and h.recorded_at <= coalesce(:recorded_at::timestamptz, 'infinity')
    and (:recorded_at::timestamptz is null or (h.recorded_at, coalesce(h.run_id, 0), h.scheduled_at) < (:recorded_at, :run_id::bigint, :scheduled_at::timestamptz))
    and h.status = any (:statuses::text[])
    and (:triggers::text[] is null or h.trigger = any (:triggers))
order by h.recorded_at desc, coalesce(h.run_id, 0) desc, h.scheduled_at desc
limit :limit
