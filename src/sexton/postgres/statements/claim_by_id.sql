-- Take those of the runs $3 for node $1 that can be claimed and are in its lanes $2: as claim does, which see. What a
-- broker says of a run may be old, doubled or wrong; what stands here decides. Joining on ctid as in claim.
with moment as materialized (select coalesce($4::timestamptz, clock_timestamp()) as now),
picked as materialized (
    select run.*
    from unnest($3::text::bigint[]) as wanted (id)
    cross join lateral (
        select run.ctid as place, run.job_id, run.claim, run.revision,
            run.cancel_requested_at is not null or run.expires_at <= (select now from moment) as gone
        from sexton.runs as run
        where run.id = wanted.id
            and run.lane = any ($2::integer[])
            and run.state in ('pending', 'failed')
            and run.available_at <= (select now from moment)
            and run.crashes < 2
        for update skip locked
    ) as run
    where (select node.state from sexton.nodes as node where node.id = $1) = 'live'
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
