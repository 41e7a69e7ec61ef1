-- Record what became of messages: if :fenced, of those that this run marked at that instant; else of locked messages, or of those whose
-- chunk was marked.
with change as materialized (
    select *
    from unnest(
        :ids::bigint[], :statuses::text[], :due_ats::timestamptz[], :hold_reasons::text[], :failure_reasons::text[],
        :channel_indexes::smallint[], :retries::smallint[], :providers::text[], :provider_ids::text[], :sents::boolean[]
    ) as given (
        id, status, due_at, hold_reason, failure_reason, channel_index, retries, provider, provider_id, sent
    )
),
settled as (
    update sexton.messages as message
    set status = change.status,
        due_at = change.due_at,
        hold_reason = change.hold_reason,
        failure_reason = case when change.sent then null else coalesce(change.failure_reason, message.failure_reason) end,
        channel_at = case
            when coalesce(change.channel_index, message.channel_index) = message.channel_index then message.channel_at
        end,
        channel_index = coalesce(change.channel_index, message.channel_index),
        retry_count = message.retry_count + change.retries,
        provider = coalesce(change.provider, message.provider),
        provider_id = coalesce(change.provider_id, message.provider_id),
        run_id = coalesce(:run_id::bigint, message.run_id),
        submitted_at = coalesce(:submitted_at::timestamptz, message.submitted_at),
        sent_at = case when change.sent then :now::timestamptz else message.sent_at end,
        settled_at = case
            when change.due_at is null or change.sent then coalesce(message.settled_at, :now::timestamptz)
        end
    from change
    where message.namespace = :namespace
        and message.id = change.id
        and (
            not :fenced::boolean
            or (
                message.run_id = :run_id::bigint
                and message.submitted_at = :submitted_at::timestamptz
                and message.status = 'processing'
            )
        )
    returning message.id, message.campaign_id, change.due_at, change.provider, change.provider_id
),
untimed as (
    delete from sexton.message_timers
    where message_id in (select id from settled where due_at is null)
),
retimed as (
    update sexton.message_timers as timer
    set due_at = settled.due_at, run_id = null
    from settled
    where timer.message_id = settled.id and settled.due_at is not null
)
insert into sexton.message_receipts (namespace, provider, provider_id, message_id)
select :namespace, provider, provider_id, id
from settled
where provider_id is not null and provider is not null
on conflict do nothing
