-- Claim up to :limit runs for a node from its lanes (in the given order), the highest priority first. It reads lane by
-- lane on runs_claimable, so that runs of a lane that no worker serves cost nothing. The outer limit stops the scan: only
-- claimed rows are locked. Every claim raises `claim`; the first one fixes the revision. A run that has expired, or was
-- cancelled while it waited, goes to history instead, and releases the next run of its job. The join on ctid keeps the
-- plan a nested loop whatever the statistics say.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
picked as materialized (
    select run.*
    from (
        select served.lane, level.priority::smallint as priority
        from unnest(:lanes::integer[]) with ordinality as served (lane, place)
        cross join generate_series(0, 3) as level (priority)
        where (select node.state from sexton.nodes as node where node.id = :node) = 'live'
        order by level.priority, served.place
    ) as stretch
    cross join lateral (
        select run.ctid as place, run.job_id, run.claim, run.revision,
            run.cancel_requested_at is not null or run.expires_at <= (select now from moment) as gone
        from sexton.runs as run
        where run.lane = stretch.lane
            and run.priority = stretch.priority
            and run.state in ('pending', 'failed')
            and run.available_at <= (select now from moment)
            and run.company = 0
        order by run.available_at
        limit :limit
        for update skip locked
    ) as run
    limit :limit
),
-- include: ended_gone
-- include: recorded_gone
-- include: promoted
update sexton.runs as run
set
-- include: claim_set
from picked
-- include: claim_definition
where run.ctid = picked.place and picked.gone is not true
returning
-- include: claim_columns
