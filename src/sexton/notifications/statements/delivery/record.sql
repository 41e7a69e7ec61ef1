-- Record reports as events that `why` shows, each once, and the status that they give a message. A bounce outranks a delivery.
with given as (
    select *
    from unnest(:message_ids::bigint[], :kinds::text[], :at::timestamptz[], :details::text[]::jsonb[], :statuses::text[], :reasons::text[])
        as given (message_id, kind, at, detail, status, reason)
),
noted as (
    insert into sexton.message_events (namespace, message_id, at, kind, detail)
    select distinct on (given.message_id, given.kind)
        :namespace, given.message_id, coalesce(given.at, :now::timestamptz, clock_timestamp()), given.kind, given.detail
    from given
    where not exists (
        select 1
        from sexton.message_events event
        where event.message_id = given.message_id and event.kind = given.kind and event.namespace = :namespace
    )
    returning message_id
),
last as (
    select distinct on (message_id) message_id, status, reason
    from given
    where status is not null
    order by message_id, status = 'delivered'
),
moved as (
    update sexton.messages message
    set status = last.status, failure_reason = case when last.status = 'delivered' then failure_reason else last.reason end,
        settled_at = coalesce(:now::timestamptz, clock_timestamp())
    from last
    where message.id = last.message_id and message.namespace = :namespace
        and (message.status in ('sent', 'unconfirmed') or (message.status = 'delivered' and last.status <> 'delivered'))
    returning message.id
)
select (select count(*) from noted) as noted, (select count(*) from moved) as moved
