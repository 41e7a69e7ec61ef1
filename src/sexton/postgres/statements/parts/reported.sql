-- What is needed to record the outcome of a run that works elsewhere, with the policies of its revision.
-- Expects select before it, and moment.
    run.id, run.job_id, run.claim, run.fired_at, run.state, run.node, run.attempt, run.crashes,
    run.cancel_requested_at is not null as cancelled,
    extract(epoch from run.claimed_at)::float8 as started,
    extract(epoch from (select now from moment))::float8 as finished,
    coalesce(old.definition -> 'options', job.options, '{}')::text as options
from sexton.runs as run
left join sexton.jobs as job on job.id = run.job_id
left join sexton.job_revisions as old
    on old.job_id = run.job_id and old.revision = run.revision and run.revision is distinct from job.revision
