-- The jobs that are due next, up to :until, with everything that firing them and carrying out their runs needs: a schedule, what a
-- claim gives to a worker, and `busy` if a run of the job keeps the next one from starting.
select timer.job_id, timer.shard, timer.scheduled_at, timer.due_at, timer.fired_count, timer.max_runs, timer.lane,
    timer.priority, timer.overlap, timer.expires_seconds, timer.concurrency_key, timer.revision,
    job.revision = timer.revision and lane.target = 'handler' and not exists (
        select from sexton.namespaces as space
        where space.name = lane.namespace and (space.live_runs is not null or space.firings_per_second is not null)
    ) as plain,
    timer.overlap <> 0 and exists (select from sexton.runs as run where run.job_id = timer.job_id and run.slot is not null)
        as busy,
    job.name, job.kind, job.schedule, job.timezone, job.anchor, job.moved, job.target::text, job.options::text,
    job.payload::text
from sexton.timers as timer
join sexton.jobs as job on job.id = timer.job_id
join sexton.lanes as lane on lane.id = timer.lane
where timer.due_at <= :until
order by timer.due_at
limit :limit
