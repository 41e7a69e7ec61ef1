-- works from: 2
-- Campaigns and their audiences, digests, sequences, and notifications that recur.

create sequence sexton.campaign_ids;

-- A filter on recipients, under a name.
create table sexton.segments (
    namespace text collate "C" not null,
    name text collate "C" not null,
    filter jsonb not null,      -- as people write it
    path text not null,         -- the same as jsonpath
    description text,
    changed_by text not null,
    changed_at timestamptz not null,
    primary key (namespace, name)
);

-- Uploaded lists, and what a query of an audience has found. A list is replaced as a whole: members belong to one upload.
create table sexton.audiences (
    id bigint primary key,
    namespace text collate "C" not null,
    name text collate "C",      -- null: that of one campaign
    size bigint not null default 0,
    current boolean not null default false,     -- whether it is the one that its name means
    uploaded_by text not null,
    uploaded_at timestamptz not null
);

create unique index audiences_name on sexton.audiences (namespace, name) where current;

create table sexton.audience_members (
    audience_id bigint not null,
    position bigint not null,
    namespace text collate "C" not null,
    user_id text collate "C" not null,
    vars jsonb,
    primary key (audience_id, position)
);

create index audience_members_recipient on sexton.audience_members (namespace, user_id);

-- One campaign is one job. Its ledger are rows of messages; where it stands is here and in its chunks.
create table sexton.campaigns (
    id bigint primary key,
    namespace text collate "C" not null,
    name text not null,
    description text,
    template_id text collate "C" not null,
    template_version integer not null,
    channels text[] not null,
    vars jsonb,
    topic text,
    urgency text,
    expires_seconds integer,
    max_retries smallint not null,
    retry_seconds integer not null,
    on_doubt text check (on_doubt in ('hold', 'resend')),
    audience jsonb not null,    -- as it was asked for
    audience_id bigint,         -- the list that it is, once that is known
    needed text[] not null default '{}',    -- variables that come from the list or from the fields of recipients
    filter text,                -- the jsonpath that it is; null: all recipients
    send_at timestamptz,        -- at one instant,
    local_time timestamp,       -- or at this time in each recipient's zone
    timezone text not null,     -- of recipients without one, when it was planned
    when_past text not null check (when_past in ('send_now', 'next_day', 'skip')),
    rate float8,
    send_window jsonb,          -- the hours of each recipient's day in which it sends
    prepare_seconds integer not null,
    canary float8,              -- the share that goes first
    late_seconds integer not null,
    job_id bigint not null,
    status text not null check (status in (
        'draft', 'scheduled', 'preparing', 'prepared', 'sending', 'waiting', 'paused', 'done', 'cancelled', 'failed'
    )),
    before_pause text,          -- the status that it goes back to
    reason text,                -- why it waits, is paused, cancelled or failed
    armed_at timestamptz,       -- zones where its time was past then follow when_past
    conductor_run bigint,       -- the run that conducts it
    looked_at timestamptz,      -- when a run has last looked after it: silence for hours is lateness
    free_at timestamptz not null default '-infinity',   -- up to when the rate is used up
    expanded_to bigint not null default 0,      -- the audience is written up to here
    expanded_at timestamptz,    -- all of it is
    chunks integer not null default 0,
    total bigint not null default 0,
    skipped bigint not null default 0,          -- zones where it was past
    unknown bigint not null default 0,          -- of a list: not a recipient
    duplicates bigint not null default 0,       -- of a list: named twice
    incomplete bigint not null default 0,       -- a variable has no value
    unreachable bigint not null default 0,      -- no address on the first channel, or opted out of it
    zones jsonb not null default '{}',          -- zone → [instant, how many]
    -- How far it was at two moments, some seconds apart: its speed.
    sampled_at timestamptz,
    sampled bigint not null default 0,
    sampled_before_at timestamptz,
    sampled_before bigint not null default 0,
    canary_state text check (canary_state in ('going', 'looked_at', 'passed')),
    created_by text not null,
    created_at timestamptz not null,
    started_at timestamptz,     -- the first message
    ended_at timestamptz
) with (fillfactor = 50);

create index campaigns_namespace on sexton.campaigns (namespace, id);
create unique index campaigns_job on sexton.campaigns (job_id);

-- A range of the ledger, sent by one run at a time. A range may hold messages of others: the campaign says whose they are.
create table sexton.campaign_chunks (
    campaign_id bigint not null,
    number integer not null,
    namespace text collate "C" not null,
    first_id bigint not null,
    last_id bigint not null,
    size integer not null,
    due_at timestamptz not null,
    canary boolean not null default false,
    state text not null default 'ready' check (state in ('ready', 'open', 'done')),
    run_id bigint,              -- of one that is open: the run
    -- The mark: of its messages in this part, a run has begun to submit those that were due at this instant. It is taken away in the
    -- transaction that settles them, so a message of a campaign is written twice and not three times.
    marked_run bigint,
    marked_after bigint,
    marked_to bigint,
    marked_at timestamptz,
    next_at timestamptz not null,   -- of one that is ready: when it is opened
    wait_reason text,           -- and what for
    sent integer not null default 0,
    failed integer not null default 0,
    suppressed integer not null default 0,
    expired integer not null default 0,
    unconfirmed integer not null default 0,
    cancelled integer not null default 0,
    changed_at timestamptz not null,
    primary key (campaign_id, number)
) with (fillfactor = 70);

create index campaign_chunks_ready on sexton.campaign_chunks (campaign_id, next_at, number) where state = 'ready';
create index campaign_chunks_marked on sexton.campaign_chunks (campaign_id) where marked_at is not null;
create index campaign_chunks_open on sexton.campaign_chunks (campaign_id) where state = 'open';

-- What held a campaign as a whole, and what let it go on. Its messages tell of it in their `why`.
create table sexton.campaign_events (
    id bigint generated always as identity primary key,
    namespace text collate "C" not null,
    campaign_id bigint not null,
    at timestamptz not null,
    kind text not null check (kind in ('paused', 'waiting', 'resumed', 'cancelled', 'quota')),
    reason text,
    actor text not null,
    until timestamptz           -- of a quota: the next day
);

create index campaign_events_campaign on sexton.campaign_events (campaign_id, id);

-- How many messages of campaigns a namespace with a quota has sent on a day (UTC), or has reserved.
create table sexton.campaign_meters (
    namespace text collate "C" not null,
    day date not null,
    taken bigint not null,
    primary key (namespace, day)
) with (fillfactor = 50);

-- How many messages were settled in a minute; part spreads the writers.
create table sexton.notification_meters (
    namespace text collate "C" not null,
    minute timestamptz not null,
    part smallint not null,
    settled bigint not null,
    busy_seconds float8 not null,   -- for which workers had them in hand
    primary key (namespace, minute, part)
) with (fillfactor = 50);

-- Events that are gathered for a recipient, and sent as one message.
create table sexton.digests (
    id bigint primary key,
    namespace text collate "C" not null,
    name text collate "C" not null,
    template_id text collate "C" not null,
    channels text[] not null,
    schedule text not null,     -- an RRULE, or cron fields, on the recipient's wall clock
    most_events integer not null,
    topic text,
    urgency text,
    expires_seconds integer,
    is_active boolean not null default true,
    changed_by text not null,
    changed_at timestamptz not null,
    deleted_at timestamptz
);

create unique index digests_name on sexton.digests (namespace, name) where deleted_at is null;

-- The message that gathers now, for each recipient and key; an event is written with the row locked.
create table sexton.digest_gatherings (
    digest_id bigint not null,
    user_id text collate "C" not null,
    key text collate "C" not null,
    namespace text collate "C" not null,
    message_id bigint,
    events integer not null default 0,
    primary key (digest_id, user_id, key)
) with (fillfactor = 70);

create table sexton.digest_events (
    digest_id bigint not null,
    event_id text collate "C" not null,
    namespace text collate "C" not null,
    user_id text collate "C" not null,
    key text collate "C" not null,
    message_id bigint not null,     -- the one message that it is in
    at timestamptz not null,
    data jsonb not null,
    primary key (digest_id, event_id)
);

create index digest_events_message on sexton.digest_events (message_id);
create index digest_events_recipient on sexton.digest_events (namespace, user_id);
create index digest_gatherings_recipient on sexton.digest_gatherings (namespace, user_id);

-- Steps with waits between them.
create table sexton.sequences (
    id bigint primary key,
    namespace text collate "C" not null,
    name text collate "C" not null,
    steps jsonb not null,
    stop_on text[] not null,    -- events that end it for a recipient
    topic text,
    revision integer not null default 1,
    changed_by text not null,
    changed_at timestamptz not null,
    deleted_at timestamptz
);

create unique index sequences_name on sexton.sequences (namespace, name) where deleted_at is null;

create table sexton.sequence_members (
    sequence_id bigint not null,
    user_id text collate "C" not null,
    entered integer not null,   -- how often she has entered it
    namespace text collate "C" not null,
    entered_at timestamptz not null,
    revision integer not null,
    message_ids bigint[] not null,      -- of its steps
    stopped_at timestamptz,
    stopped_by text,            -- the event, or the person
    primary key (sequence_id, user_id, entered)
);

create index sequence_members_recipient on sexton.sequence_members (namespace, user_id);

-- Notifications that recur: each is a job, and each of its firings makes one message.
create table sexton.notification_schedules (
    id bigint primary key,
    namespace text collate "C" not null,
    name text,
    user_id text collate "C",
    spec jsonb not null,        -- the message that is made
    recurrence_rule text not null,
    recurrence_end timestamptz,
    starts_at timestamp,        -- on the wall clock: where the rule begins
    timezone text,              -- null: the recipient's
    zone text not null,         -- the zone that counts now
    job_id bigint not null,
    is_active boolean not null default true,
    created_by text not null,
    created_at timestamptz not null,
    deleted_at timestamptz
);

create index notification_schedules_namespace on sexton.notification_schedules (namespace, id) where deleted_at is null;
create index notification_schedules_recipient on sexton.notification_schedules (namespace, user_id) where deleted_at is null;
create unique index notification_schedules_job on sexton.notification_schedules (job_id);
