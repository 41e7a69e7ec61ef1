-- Cancel what is left of some chunks of a cancelled campaign. What a run has marked, and has not settled before it was given up,
-- may have gone out.
with chosen as materialized (
    select chunk.number, chunk.first_id, chunk.last_id, chunk.marked_run, chunk.marked_after, chunk.marked_to, chunk.marked_at
    from sexton.campaign_chunks as chunk
    where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.state = 'ready'
    order by chunk.number
    limit :limit
    for no key update
),
gone as (
    update sexton.messages as message
    set status = case when doubt.marked then 'unconfirmed' else 'cancelled' end,
        run_id = case when doubt.marked then chosen.marked_run else message.run_id end,
        submitted_at = case when doubt.marked then chosen.marked_at else message.submitted_at end,
        failure_reason = case when doubt.marked then :doubt_reason else :reason end,
        due_at = null, hold_reason = null, settled_at = :now
    from chosen
    cross join lateral (
        select found.id,
            chosen.marked_at is not null and found.id > chosen.marked_after and found.id <= chosen.marked_to
                and found.due_at <= chosen.marked_at as marked
        from sexton.messages as found
        where found.namespace = :namespace and found.id between chosen.first_id and chosen.last_id
            and found.campaign_id is not distinct from :campaign_id and found.status in ('pending', 'held')
    ) as doubt
    where message.namespace = :namespace and message.id = doubt.id and message.status in ('pending', 'held')
    returning message.id, chosen.number, message.status
),
noted as (
    insert into sexton.message_events (namespace, message_id, at, kind, detail)
    select :namespace, gone.id, :now, 'unconfirmed', jsonb_build_object('reason', :doubt_reason::text)
    from gone
    where gone.status = 'unconfirmed'
),
counted as (
    select chosen.number, count(*) filter (where gone.status = 'cancelled') as cancelled,
        count(*) filter (where gone.status = 'unconfirmed') as unconfirmed
    from chosen left join gone on gone.number = chosen.number
    group by chosen.number
)
update sexton.campaign_chunks as chunk
set state = 'done', cancelled = chunk.cancelled + counted.cancelled, unconfirmed = chunk.unconfirmed + counted.unconfirmed,
    marked_run = null, marked_after = null, marked_to = null, marked_at = null, changed_at = :now
from counted
where chunk.campaign_id = :campaign_id and chunk.namespace = :namespace and chunk.number = counted.number
returning chunk.number
