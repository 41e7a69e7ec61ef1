-- The filters of live runs, besides states and triggers; a filter that is null does not apply. Expects live_runs and a condition before it.
    and (:states::text[] is null or r.state = any (:states))
    and (:triggers::text[] is null or r.trigger = any (:triggers))
    and (:queue::text is null or r.lane = any (array(select id from sexton.lanes where lanes.queue = :queue and lanes.namespace = :namespace)))
    and (not :late::boolean or (r.trigger = 'schedule' and not r.missed and r.attempt > 0
        and case when r.attempt > 1 then r.fired_at else r.claimed_at end - r.due_at >= interval '1 second'))
    and (:error::text is null or strpos(lower(r.error), lower(:error)) > 0)
    and (:worker::text is null or n.name = :worker)
