-- One ended run. A run that died and was redriven keeps its row; the redrive is a run of its own.
select
    h.claim, coalesce(h.payload, j.payload)::text as payload,
-- include: ended_runs
where h.run_id = :run_id and j.namespace = :namespace
order by h.recorded_at desc
limit 1
