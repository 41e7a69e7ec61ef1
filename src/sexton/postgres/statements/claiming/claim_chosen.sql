-- Claim the :runs that were chosen from :queues (one for each run) under their limits, as claiming/claim does, and count
-- them among the runs of their queue. Runs that another transaction has locked or taken meanwhile are left out.
-- For each of the :noted queues, the next claim has these :tokens less the claimed runs (null: no rate), and continues
-- after the key in :keys (null: where it was).
with moment as materialized (select :now::timestamptz as now),
picked as materialized (
    select run.place, run.job_id, run.claim, run.revision, chosen.queue
    from unnest(:runs::bigint[], :queues::integer[]) as chosen (id, queue)
    -- By the id alone: with the state, the planner may take a partial index of all waiting runs.
    cross join lateral (
        select run.ctid as place, run.job_id, run.claim, run.revision, run.state, run.cancel_requested_at
        from sexton.runs as run
        where run.id = chosen.id
        offset 0
        for update skip locked
    ) as run
    where run.state in ('pending', 'failed')
        and run.cancel_requested_at is null
        and (select node.state from sexton.nodes as node where node.id = :node) = 'live'
),
taken as (
    update sexton.runs as run
    set limited_by = picked.queue,
    -- include: claim_set
    from picked
    -- include: claim_definition
    where run.ctid = picked.place
    returning run.id, run.limited_by
),
noted as (
    update sexton.queues as queue
    set tokens = coalesce(
            note.tokens - (select count(*) from taken where taken.limited_by = note.id), queue.tokens
        ),
        refilled_at = case when note.tokens is null then queue.refilled_at
            else greatest(queue.refilled_at, (select now from moment)) end,
        key_place = coalesce(note.key, queue.key_place)
    from unnest(:noted::integer[], :tokens::float8[], :keys::text[]) as note (id, tokens, key)
    where queue.id = note.id
)
select taken.id from taken
