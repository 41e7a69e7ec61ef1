-- works from: 1
-- Content: what is planned for entities, and the entities of the adapter `builtin`.

create sequence sexton.content_ids;

-- One action on one entity: its time is that of its job, or of its release. What became of it is in the ledger of the job.
create table sexton.content_schedules (
    id bigint primary key,
    namespace text collate "C" not null,
    entity_type text collate "C" not null,
    entity_id text collate "C" not null,
    action text not null check (action in ('publish', 'unpublish', 'archive')),
    adapter text not null,
    version integer,            -- which version goes out; null: the latest at that time
    note text,
    created_by text not null,
    created_at timestamptz not null,
    job_id bigint not null,     -- of an item of a release: the job of the release
    timezone text not null,
    recurrence_rule text,
    scheduled_at timestamptz not null,  -- of a single action: its time. Of a series: its first
    valid_from timestamptz,             -- of a series that was moved: occurrences before this do not count any more
    skipped timestamptz[] not null default '{}',    -- occurrences that are left out
    revision integer not null default 1,
    needs_approval boolean not null default false,
    approved_by text,
    approved_at timestamptz,
    cancelled_by text,
    cancelled_at timestamptz,
    window_id bigint,           -- the id of the action that opens the window
    opened_at timestamptz,      -- of what closes a window of a series: the occurrence that opened it
    open_for interval,          -- of what opens a window of a series: how long it is open, on the wall clock
    release_id bigint,
    place integer,              -- its place in the release
    catch_up_seconds integer,   -- missed by more than this, it is not done; null: no limit
    -- The fence: which occurrence was begun, by which run; and up to which all is done.
    begun_at timestamptz,
    begun_run bigint,
    done_at timestamptz,
    told_at timestamptz,        -- the occurrence whose failure the author was told of
    -- Of an item of a release: what became of it.
    result text check (result in ('changed', 'no_op', 'failed', 'skipped', 'undone', 'not_undone')),
    error text,
    -- Of what was begun: how its entity was before.
    state_before text,
    version_before integer
);

create index content_schedules_entity on sexton.content_schedules (namespace, entity_type, entity_id, scheduled_at);
create unique index content_schedules_job on sexton.content_schedules (job_id) where release_id is null;
create index content_schedules_time on sexton.content_schedules (namespace, scheduled_at, id) where recurrence_rule is null;
create index content_schedules_series on sexton.content_schedules (namespace, scheduled_at, id) where recurrence_rule is not null;
create index content_schedules_type on sexton.content_schedules (namespace, entity_type, scheduled_at, id) where recurrence_rule is null;
create index content_schedules_author on sexton.content_schedules (namespace, created_by, scheduled_at, id) where recurrence_rule is null;
create index content_schedules_window on sexton.content_schedules (window_id) where window_id is not null;
create index content_schedules_release on sexton.content_schedules (release_id, place) where release_id is not null;

-- Actions that go out together: the items are rows of content_schedules with its job. The release is their fence.
create table sexton.content_releases (
    id bigint primary key,
    namespace text collate "C" not null,
    adapter text not null,
    on_failure text not null check (on_failure in ('undo', 'stop', 'continue')),
    preflight_seconds integer,  -- it is checked so long before its time
    note text,
    created_by text not null,
    created_at timestamptz not null,
    job_id bigint not null,
    check_job_id bigint,        -- the job that checks it before its time
    timezone text not null,
    scheduled_at timestamptz not null,
    max_retries integer not null,
    catch_up_seconds integer not null,
    revision integer not null default 1,
    needs_approval boolean not null default false,
    approved_by text,
    approved_at timestamptz,
    cancelled_by text,
    cancelled_at timestamptz,
    begun_run bigint,
    done_at timestamptz,        -- all that was to be done is done
    failed_at timestamptz,      -- an item failed for good: from here on nothing goes out, and on_failure is carried out
    error text,
    told_at timestamptz,
    checked_at timestamptz,
    findings jsonb
);

create index content_releases_time on sexton.content_releases (namespace, scheduled_at, id);
create unique index content_releases_job on sexton.content_releases (job_id);
create unique index content_releases_check on sexton.content_releases (check_job_id) where check_job_id is not null;

-- Whom a namespace tells what became of its content.
create table sexton.content_notices (
    namespace text collate "C" primary key,
    job_id bigint not null,     -- the job whose runs are the notices
    url text not null,
    secret text,                -- the name of the secret that signs them; null: that of the installation
    events text[] not null,
    set_by text not null,
    set_at timestamptz not null
);

-- Addresses of calendars for people's own programs. The secret in the address is not here, only its hash under the cluster's own key.
create table sexton.content_feeds (
    id bigint generated always as identity primary key,
    namespace text collate "C" not null,
    name text not null,
    entity_type text,           -- null: of all types
    author text,                -- null: of all authors
    hash bytea not null unique,
    created_by text not null,
    created_at timestamptz not null,
    revoked_by text,
    revoked_at timestamptz
);

create index content_feeds_namespace on sexton.content_feeds (namespace, id);

-- The adapter `builtin`.
create table sexton.content_entities (
    namespace text collate "C" not null,
    entity_type text collate "C" not null,
    entity_id text collate "C" not null,
    state text not null default 'draft' check (state in ('draft', 'published', 'unpublished', 'archived')),
    published_version integer,
    latest_version integer not null default 0,
    updated_at timestamptz not null,
    primary key (namespace, entity_type, entity_id)
) with (fillfactor = 80);

create table sexton.content_versions (
    namespace text collate "C" not null,
    entity_type text collate "C" not null,
    entity_id text collate "C" not null,
    version integer not null,
    body jsonb not null,
    created_by text not null,
    created_at timestamptz not null,
    primary key (namespace, entity_type, entity_id, version)
);

-- What an entity is found by: the words of its title, each behind its namespace. A search reads no words of others: of a word that very many
-- have it takes some of the rows, and those of another namespace must not be among them.
create function sexton.title_words(namespace text, body jsonb) returns tsvector
language sql immutable parallel safe
return array_to_tsvector(array(
    select namespace || '/' || word
    from unnest(tsvector_to_array(
        sexton.words_of(left(coalesce(body ->> 'title', body ->> 'name', ''), 200), null, null)
    )) as word
));

create index content_versions_title on sexton.content_versions using gin (sexton.title_words(namespace, body));

-- What was done to entities, whatever the adapter. Kept when the ledger of the runs is gone.
create table sexton.content_changes (
    id bigint generated always as identity primary key,
    namespace text collate "C" not null,
    entity_type text collate "C" not null,
    entity_id text collate "C" not null,
    at timestamptz not null,
    action text not null,
    state_before text,
    state_after text,
    version integer,
    schedule_id bigint,
    release_id bigint,
    run_id bigint,
    actor text not null
);

create index content_changes_entity on sexton.content_changes (namespace, entity_type, entity_id, id);

-- Adapters that a namespace has configured: where its entities live, beside `builtin`.
create table sexton.content_adapters (
    namespace text collate "C" not null,
    name text collate "C" not null,
    kind text not null,
    config jsonb not null,      -- names secrets, holds none
    revision integer not null default 1,
    changed_by text not null,
    changed_at timestamptz not null,
    primary key (namespace, name)
);
