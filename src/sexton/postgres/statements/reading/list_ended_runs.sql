-- Ended runs and skipped occurrences of a namespace that were recorded at or after :first and up to :last, the latest first. :run_id and :scheduled_at, with
-- :last, name the last row of the page before, or are null. The caller widens the range step by step, because history is ordered by job.
select
-- include: ended_runs
where j.namespace = :namespace and h.recorded_at >= :first and h.recorded_at <= :last
    and (:run_id::bigint is null or (h.recorded_at, coalesce(h.run_id, 0), h.scheduled_at) < (:last, :run_id, :scheduled_at::timestamptz))
-- include: ended_choice
order by h.recorded_at desc, coalesce(h.run_id, 0) desc, h.scheduled_at desc
limit :limit
