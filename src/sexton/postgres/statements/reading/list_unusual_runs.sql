-- As list_ended_runs, for filters that match no success of a schedule: all other rows have an index by time.
select
-- include: ended_runs
where j.namespace = :namespace and h.recorded_at >= :first and h.recorded_at <= :last
    and (h.status <> 'success' or h.trigger <> 'schedule')
    and (:run_id::bigint is null or (h.recorded_at, coalesce(h.run_id, 0), h.scheduled_at) < (:last, :run_id, :scheduled_at::timestamptz))
-- include: ended_choice
order by h.recorded_at desc, coalesce(h.run_id, 0) desc, h.scheduled_at desc
limit :limit
