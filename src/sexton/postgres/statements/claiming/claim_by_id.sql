-- Of these runs, claim those that are ready and in the lanes of a node, by the rules of claiming/claim. A notice
-- of a broker may be late, repeated or wrong; the rows of `runs` decide. It joins on ctid as claiming/claim does.
-- :runs is the text of an array.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
picked as materialized (
    select run.*
    from unnest(:runs::text::bigint[]) as wanted (id)
    cross join lateral (
        select run.ctid as place, run.job_id, run.claim, run.revision,
            run.cancel_requested_at is not null or run.expires_at <= (select now from moment) as gone
        from sexton.runs as run
        where run.id = wanted.id
            and run.lane = any (:lanes::integer[])
            and run.state in ('pending', 'failed')
            and run.available_at <= (select now from moment)
            and run.company = 0
        for update skip locked
    ) as run
    where (select node.state from sexton.nodes as node where node.id = :node) = 'live'
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
