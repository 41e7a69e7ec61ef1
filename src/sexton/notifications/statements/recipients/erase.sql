-- Remove all data of a person; returns the number of rows of each table. Timers are locked before messages, as everywhere.
with who as materialized (
    select email, phone, addresses from sexton.recipients where namespace = :namespace and user_id = :user_id
),
own as materialized (
    select id, address from sexton.messages where namespace = :namespace and user_id = :user_id
),
timers as (
    delete from sexton.message_timers where message_id in (select id from own) returning 1
),
events as (
    delete from sexton.message_events where message_id in (select id from own) returning 1
),
receipts as (
    delete from sexton.message_receipts where message_id in (select id from own) returning 1
),
messages as (
    delete from sexton.messages where id in (select id from own) returning 1
),
gatherings as (
    delete from sexton.digest_gatherings where namespace = :namespace and user_id = :user_id returning 1
),
digested as (
    delete from sexton.digest_events where namespace = :namespace and user_id = :user_id returning 1
),
members as (
    delete from sexton.sequence_members where namespace = :namespace and user_id = :user_id returning 1
),
listed as (
    delete from sexton.audience_members where namespace = :namespace and user_id = :user_id returning 1
),
schedules as (
    -- Their jobs find nothing to send from now on.
    delete from sexton.notification_schedules where namespace = :namespace and user_id = :user_id returning 1
),
inbox as (
    delete from sexton.inbox where namespace = :namespace and user_id = :user_id returning 1
),
counts as (
    delete from sexton.recipient_counts where namespace = :namespace and user_id = :user_id returning 1
),
suppressed as (
    delete from sexton.suppressions
    where namespace = :namespace
        and address in (
            select lower(email) from who union all select phone from who
            union all
            select kept.value from who, jsonb_each_text(who.addresses) as kept
            union all
            select written
            from own, jsonb_each_text(own.address) as given, lateral (values (given.value), (lower(given.value))) as way (written)
        )
    returning 1
),
person as (
    delete from sexton.recipients where namespace = :namespace and user_id = :user_id returning 1
)
select (select count(*) from person) as recipients, (select count(*) from messages) as messages,
       (select count(*) from timers) as message_timers, (select count(*) from events) as message_events,
       (select count(*) from receipts) as message_receipts, (select count(*) from counts) as recipient_counts,
       (select count(*) from gatherings) as digest_gatherings, (select count(*) from digested) as digest_events,
       (select count(*) from members) as sequence_members, (select count(*) from listed) as audience_members,
       (select count(*) from schedules) as notification_schedules, (select count(*) from inbox) as inbox, (select count(*) from suppressed) as suppressions
