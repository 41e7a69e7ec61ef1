-- works from: 2
-- Notifications: recipients, templates, and the ledger of messages.

create sequence sexton.recipient_numbers cache 100;
create sequence sexton.message_ids cache 100;

-- What a namespace has decided for all its messages.
create table sexton.notification_settings (
    namespace text collate "C" primary key,
    timezone text,              -- of recipients without one; null: UTC
    locale text,                -- of recipients without one
    quiet_hours jsonb,          -- of recipients without any
    quiet_passes text[] not null default '{asap}',  -- the urgencies that quiet hours do not hold
    caps jsonb,                 -- of recipients without any
    now_job_id bigint,          -- the job whose runs send what is due at once
    sweep_job_id bigint,        -- the job that sends what was left behind
    changed_by text not null,
    changed_at timestamptz not null
);

create table sexton.recipients (
    namespace text collate "C" not null,
    user_id text collate "C" not null,
    number bigint not null default nextval('sexton.recipient_numbers'),     -- audiences are walked in this order
    email text,
    phone text,
    devices jsonb,              -- an array: where push messages go
    addresses jsonb,            -- an object: the addresses of other channels
    timezone text,
    locale text,
    quiet_hours jsonb,
    opt_outs jsonb,             -- an array of {channel, topic}, either of them or both
    caps jsonb,                 -- an array of {channel or topic, n, per: day or week}
    fields jsonb,
    suppressed_at timestamptz,  -- since then the recipient gets nothing, on any channel
    suppressed_reason text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (namespace, user_id)
) with (fillfactor = 90);

create unique index recipients_number on sexton.recipients (namespace, number);

create table sexton.templates (
    namespace text collate "C" not null,
    template_id text collate "C" not null,
    version integer not null,   -- the latest
    created_by text not null,
    created_at timestamptz not null,
    updated_by text not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,     -- messages that were made with it still go out
    primary key (namespace, template_id)
);

create table sexton.template_versions (
    namespace text collate "C" not null,
    template_id text collate "C" not null,
    version integer not null,
    parts jsonb not null,       -- locale ('': the default) → channel → part → text
    variables jsonb,            -- name → {type, required, default, sample}; null: none are declared
    defaults jsonb not null default '{}',   -- urgency, expires_seconds, topic, max_retries, …
    created_by text not null,
    created_at timestamptz not null,
    primary key (namespace, template_id, version)
);

-- The ledger. No index has a column that sending changes, nor has its predicate, and a batch changes all rows of a page at once, of which
-- none may go before it has ended: with room for all of them once more, every update is HOT. (With a fillfactor of 70 six in ten were not,
-- and cost four times as much.)
create table sexton.messages (
    id bigint primary key default nextval('sexton.message_ids'),
    namespace text collate "C" not null,
    campaign_id bigint,
    schedule_id bigint,
    digest_id bigint,
    sequence_id bigint,
    user_id text collate "C",
    address jsonb,              -- an object by channel: instead of the recipient's own
    channels text[] not null,   -- in the order in which they are tried
    channel_index smallint not null default 0,
    channel_at timestamptz,     -- when it was first submitted on this channel
    channel_after_seconds integer[],    -- so long after its time the next channel is tried; one less than channels
    channel_unless text[],      -- unless this one has got so far: sent, delivered or read
    template_id text collate "C" not null,
    template_version integer,   -- null: the latest when it is sent
    vars jsonb,                 -- null: those of the campaign
    topic text,
    urgency text,
    scheduled_at timestamptz not null,  -- the instant that was asked for
    local_time timestamp,       -- and the local time that it came from
    timezone text,              -- the zone that counted when it was scheduled
    timing jsonb,               -- where the zone came from, and what a clock change did
    due_at timestamptz,         -- when it is looked at next; null: nothing is left to do, or it is being submitted
    expires_at timestamptz,
    status text not null default 'pending',
    hold_reason text,
    retry_count smallint not null default 0,
    max_retries smallint not null default 3,
    retry_seconds integer not null default 300,
    failure_reason text,
    provider text,
    provider_id text,
    run_id bigint,              -- the run that submits it, or has done
    submitted_at timestamptz,
    sent_at timestamptz,
    settled_at timestamptz,
    created_at timestamptz not null,
    created_by text not null,
    key text                    -- what goes to the provider; null: its id
) with (fillfactor = 45);

create unique index messages_campaign on sexton.messages (campaign_id, user_id) where campaign_id is not null;
create index messages_recipient on sexton.messages (namespace, user_id, id);
create index messages_namespace on sexton.messages (namespace, id);

-- One for each message outside of campaigns that is not over: when it is looked at next.
create table sexton.message_timers (
    namespace text collate "C" not null,
    message_id bigint primary key,
    due_at timestamptz not null,
    run_id bigint               -- the run that submits it now
) with (fillfactor = 80);

create index message_timers_due on sexton.message_timers (namespace, due_at, message_id) where run_id is null;
create index message_timers_run on sexton.message_timers (run_id) where run_id is not null;

-- What was unusual about a message. Its ordinary way is in its row.
create table sexton.message_events (
    id bigint generated always as identity primary key,
    namespace text collate "C" not null,
    message_id bigint not null,
    at timestamptz not null,
    kind text not null,
    detail jsonb
);

create index message_events_message on sexton.message_events (message_id, id);

-- Under which name a provider that reports delivery knows a message.
create table sexton.message_receipts (
    namespace text collate "C" not null,
    provider text collate "C" not null,
    provider_id text collate "C" not null,
    message_id bigint not null,
    primary key (namespace, provider, provider_id)
);

create index message_receipts_message on sexton.message_receipts (message_id);

-- Frequency caps: how many messages a recipient with a cap has had in a day or week of her own.
create table sexton.recipient_counts (
    namespace text collate "C" not null,
    user_id text collate "C" not null,
    subject text collate "C" not null,      -- such as channel:email/day
    period_start date not null,
    n integer not null,
    primary key (namespace, user_id, subject, period_start)
) with (fillfactor = 80);

-- Addresses that get nothing: hard bounces, complaints, unsubscribed.
create table sexton.suppressions (
    namespace text collate "C" not null,
    channel text collate "C" not null,
    address text collate "C" not null,
    reason text not null,
    since timestamptz not null,
    primary key (namespace, channel, address)
);

-- Who sends for a namespace, beside the providers that need no configuration.
create table sexton.notification_providers (
    namespace text collate "C" not null,
    name text collate "C" not null,
    channel text collate "C" not null,
    kind text not null,
    config jsonb not null,      -- names secrets, holds none
    priority integer not null,  -- the smallest is asked first
    rate double precision,      -- messages in a second, of all processes together; null: no limit
    concurrency integer,        -- requests or connections at a time, of each process; null: as the kind has it
    on_doubt text check (on_doubt in ('hold', 'resend')),   -- null: resend if the other side knows keys
    enabled boolean not null default true,
    revision integer not null default 1,
    changed_by text not null,
    changed_at timestamptz not null,
    primary key (namespace, name)
);

create index notification_providers_channel on sexton.notification_providers (namespace, channel, priority, name);

-- How a provider is doing. Written now and then; providers without a configuration of their own are here too.
create table sexton.notification_health (
    namespace text collate "C" not null,
    name text collate "C" not null,
    channel text collate "C" not null,
    next_at timestamptz,        -- with a rate: when the next message may go
    open_until timestamptz,     -- its circuit is open until then
    open_reason text,
    opened_at timestamptz,
    accepted bigint not null default 0,
    rejected bigint not null default 0,
    failed bigint not null default 0,
    unclear bigint not null default 0,
    deferred bigint not null default 0,
    accepted_at timestamptz,    -- the last time
    failed_at timestamptz,
    failure text,               -- the last one
    primary key (namespace, name, channel)
) with (fillfactor = 50);

-- The channel in_app: what is in the inbox of a recipient.
create table sexton.inbox (
    id bigint generated always as identity primary key,
    namespace text collate "C" not null,
    user_id text collate "C" not null,
    key text collate "C" not null,          -- of its message: sent twice, it is here once
    message_id bigint not null,
    parts jsonb not null,
    topic text,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    read_at timestamptz,
    archived_at timestamptz
) with (fillfactor = 80);

create unique index inbox_key on sexton.inbox (namespace, user_id, key);
create index inbox_recipient on sexton.inbox (namespace, user_id, id);
create index inbox_unread on sexton.inbox (namespace, user_id) where read_at is null and archived_at is null;
create index inbox_expiry on sexton.inbox (namespace, expires_at);
