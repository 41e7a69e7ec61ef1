-- The filters of ended runs and skipped occurrences, besides their time; a filter that is null does not apply. A job's own offset (jitter) does
-- not make its runs late. Expects ended_runs and a condition before it.
    and h.status = any (:statuses::text[])
    and (:triggers::text[] is null or h.trigger = any (:triggers))
    and (:queue::text is null or coalesce(j.options ->> 'queue', :default_queue::text) = :queue)
    -- A cheap bound first: with the offset a run is at least as late. It leaves most runs out before their jobs are looked up.
    and (not :late::boolean or case when h.attempt > 1 then h.fired_at else h.started_at end - h.scheduled_at >= interval '1 second')
    and (not :late or (h.trigger = 'schedule' and not h.missed and h.attempt > 0
        and case when h.attempt > 1 then h.fired_at else h.started_at end
            - case when j.options ? 'jitter_seconds' then h.fired_at else h.scheduled_at end >= interval '1 second'))
    and (:error::text is null or strpos(lower(h.error), lower(:error)) > 0)
    and (:worker::text is null or n.name = :worker)
