-- What a claim sets: the claim number grows with every claim, and the first claim fixes the revision.
-- Expects moment, :node, :timeout_seconds (for jobs without their own), and what claim_definition joins.
    state = 'running',
    claim = run.claim + 1,
    attempt = run.attempt + 1,
    node = :node,
    revision = coalesce(case when old.definition is null then job.revision end, run.revision),
    claimed_at = (select now from moment),
    deadline_at = (select now from moment) + make_interval(
        secs => coalesce(
            (coalesce(old.definition -> 'options', job.options) ->> 'timeout_seconds')::float8, :timeout_seconds::float8))
