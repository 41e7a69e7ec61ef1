-- What waits to be sent, counted in messages: of single ones by their timers, up to :most, of campaigns by their chunks. `arrived` of them
-- came in `arrived_seconds`, among the latest ids; `settled` were settled in `settled_seconds`, and workers had them in hand for
-- `busy_seconds`.
with moment as materialized (select coalesce(:now::timestamptz, clock_timestamp()) as now),
single as materialized (
    select timer.due_at
    from sexton.message_timers as timer
    where timer.namespace = :namespace and timer.run_id is null
    order by timer.due_at
    limit :most
),
chunk as materialized (
    select chunk.state, greatest(0, chunk.size - chunk.sent - chunk.failed - chunk.suppressed - chunk.expired - chunk.unconfirmed
        - chunk.cancelled) as left,
        case when chunk.state = 'open' then chunk.due_at else greatest(chunk.next_at, chunk.due_at) end as due_at, chunk.due_at as oldest
    from sexton.campaigns as campaign
    join sexton.campaign_chunks as chunk on chunk.campaign_id = campaign.id
    where campaign.namespace = :namespace and campaign.status in ('preparing', 'prepared', 'sending') and chunk.state in ('ready', 'open')
),
latest as materialized (
    select message.created_at
    from sexton.messages as message
    where message.namespace = :namespace
    order by message.id desc
    limit :sample
)
select moment.now,
    (select count(*) from single where single.due_at <= moment.now) as single_due,
    (select coalesce(sum(chunk.left), 0)::bigint from chunk where chunk.due_at <= moment.now) as campaign_due,
    (select count(*) from single) as single_waiting,
    (select coalesce(sum(chunk.left), 0)::bigint from chunk) as campaign_waiting,
    least(
        (select min(single.due_at) from single),
        (select min(chunk.oldest) from chunk where chunk.left > 0)
    ) as oldest_due_at,
    (select count(*) from single where single.due_at > moment.now and single.due_at <= moment.now + interval '5 minutes')
        + (select coalesce(sum(chunk.left), 0)::bigint from chunk
            where chunk.due_at > moment.now and chunk.due_at <= moment.now + interval '5 minutes') as due_5,
    (select count(*) from single where single.due_at > moment.now and single.due_at <= moment.now + interval '10 minutes')
        + (select coalesce(sum(chunk.left), 0)::bigint from chunk
            where chunk.due_at > moment.now and chunk.due_at <= moment.now + interval '10 minutes') as due_10,
    (select count(*) from single where single.due_at > moment.now and single.due_at <= moment.now + interval '60 minutes')
        + (select coalesce(sum(chunk.left), 0)::bigint from chunk
            where chunk.due_at > moment.now and chunk.due_at <= moment.now + interval '60 minutes') as due_60,
    (select count(*) from single where single.due_at > moment.now
            and single.due_at <= moment.now + make_interval(secs => :drain_seconds))
        + (select coalesce(sum(chunk.left), 0)::bigint from chunk where chunk.due_at > moment.now
            and chunk.due_at <= moment.now + make_interval(secs => :drain_seconds)) as due_meanwhile,
    (select count(*) from latest where latest.created_at > moment.now - interval '60 seconds') as arrived,
    case when (select count(*) from latest) < :sample then 60.0
        else least(60.0, greatest(1.0, extract(epoch from moment.now - (select min(latest.created_at) from latest))))
    end::float8 as arrived_seconds,
    (
        select coalesce(sum(meter.settled), 0)::bigint from sexton.notification_meters as meter
        where meter.namespace = :namespace and meter.minute > moment.now - interval '2 minutes'
    ) as settled,
    (
        select coalesce(extract(epoch from moment.now - min(meter.minute)), 60)::float8 from sexton.notification_meters as meter
        where meter.namespace = :namespace and meter.minute > moment.now - interval '2 minutes'
    ) as settled_seconds,
    (
        select coalesce(max(speed.per_second), 0)::float8
        from (
            select sum(meter.settled) / greatest(sum(meter.busy_seconds), 0.001) as per_second
            from sexton.notification_meters as meter
            where meter.namespace = :namespace and meter.minute > moment.now - interval '1 day'
            group by meter.minute
            having sum(meter.settled) >= 100
        ) as speed
    ) as per_batch_second,
    (select count(*) from sexton.nodes as node where node.state = 'live' and 'worker' = any (node.roles)) as workers
from moment
