-- One live run, with all of its columns.
select
    r.crashes, r.claim, r.deadline_at, r.progress::text, coalesce(r.payload, j.payload)::text as payload, l.namespace, l.queue,
    l.target, l.handler, r.concurrency_key,
    (select b.id from sexton.runs b where b.job_id = r.job_id and b.slot = 0) as blocker,
-- include: live_runs
left join sexton.lanes l on l.id = r.lane
where r.id = :run_id and j.namespace = :namespace
