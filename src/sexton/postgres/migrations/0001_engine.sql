-- The engine's tables. Firing and running touch only narrow rows: timers, runs and history; jobs change when
-- people change them. There are no foreign keys on the hot tables: their rows are written by one statement each.

create table sexton.settings (
    name text primary key,
    value jsonb not null
);

-- Which shard a job belongs to: what sexton.model.shard_of works out, with products that fit into 63 bits.
create function sexton.shard_of(job_id bigint, shards integer) returns smallint
language sql immutable parallel safe
return ((((((job_id # (job_id >> 31)) >> 32) * 2135587861) & 4294967295)
    + ((((job_id # (job_id >> 31)) & 4294967295) * -1640531527) & 4294967295)
    + ((((job_id # (job_id >> 31)) & 4294967295) * 2135587861) >> 32)) & 4294967295) % shards;

-- A writer of timers holds this advisory lock together with others, and reads the number of shards in a later
-- statement; a change of the number holds it alone.
create function sexton.shards_lock() returns bigint
language sql stable parallel safe
return (7390005::bigint << 32) | 'sexton.settings'::regclass::oid::bigint;

-- From when on no missed run is to start yet, in microseconds since 1970. A sequence, since a transaction that reserves
-- times and then takes long, or fails, must not keep others from theirs.
create sequence sexton.catch_up_free_at;

-- When the first of so many missed runs may start, at so many per second from some time on. The lock is given back at once.
create function sexton.reserve_catch_up(runs integer, rate float8, since timestamptz) returns timestamptz
language plpgsql as $$
declare
    lock_key constant bigint := (7390006::bigint << 32) | 'sexton.settings'::regclass::oid::bigint;
    first_at bigint;
begin
    perform pg_advisory_lock(lock_key);
    select greatest(last_value, (extract(epoch from since) * 1000000)::bigint) into first_at from sexton.catch_up_free_at;
    perform setval('sexton.catch_up_free_at', first_at + round(runs * 1000000 / rate)::bigint);
    perform pg_advisory_unlock(lock_key);
    return timestamptz 'epoch' + first_at * interval '1 microsecond';
end
$$;

-- Grows with every change of namespaces and keys: processes that serve the API compare it, and read them again.
create table sexton.access_version (
    version bigint not null
);

insert into sexton.access_version values (0);

-- Who has what: jobs, queues, secrets and keys belong to one. Quotas are null where there is none.
create table sexton.namespaces (
    name text collate "C" primary key,
    description text,
    created_at timestamptz not null default clock_timestamp(),
    jobs bigint check (jobs >= 0),
    live_runs bigint check (live_runs > 0),
    firings_per_second float8 check (firings_per_second > 0),
    payload_bytes integer check (payload_bytes > 0),
    history_days integer check (history_days > 0),
    campaign_sends_per_day bigint check (campaign_sends_per_day >= 0),
    history_begins date             -- what was recorded before is deleted, as history_days says
);

insert into sexton.namespaces (name) values ('default');

-- What namespaces with a quota of jobs or of runs have used of it. What ends is not counted: `taken` grows with all that is
-- made, and a count (`counted`, of a moment when `counted_taken` had been taken) says how much of it is left. So there
-- are at most counted + taken - counted_taken, and what is made never exceeds a quota though many make it at once.
create table sexton.meters (
    namespace text collate "C" not null,
    kind text not null check (kind in ('jobs', 'runs')),
    taken bigint not null default 0,
    counted bigint not null default 0,
    counted_taken bigint not null default 0,
    counted_at timestamptz not null default '-infinity',    -- -infinity: it was not counted yet
    free_at timestamptz not null default '-infinity',       -- from when on the rate of firings is not used up
    primary key (namespace, kind)
) with (fillfactor = 50);

-- What callers of the API show. The text of a key is not here, only its hash under the cluster's own key.
create table sexton.keys (
    id bigint generated always as identity primary key,
    namespace text collate "C" not null,    -- *: all of them
    name text not null,
    role text not null check (role in ('viewer', 'operator', 'editor', 'admin', 'worker')),
    hash bytea not null unique,
    beginning text not null,                -- the first characters, to recognise it by
    created_by text not null,
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    rate float8                             -- requests per second; null: as many as others
);

create index keys_namespace on sexton.keys (namespace, id);

-- Links that let a browser sign in once. The link itself is not here, only its hash under the cluster's own key.
create table sexton.sign_in_links (
    hash bytea primary key,
    name text not null,                     -- the session gets what the maker of the link has
    credential text not null,
    key_id bigint,
    grants jsonb not null,
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null
);

-- Who is signed in. The token in the cookie is not here, only its hash under the cluster's own key.
create table sexton.sessions (
    id bigint generated always as identity primary key,
    hash bytea not null unique,
    name text not null,                     -- of the principal, as the audit has it
    credential text not null,               -- what told who it is; the sessions of one are ended together
    key_id bigint,                          -- the API key it came from: it ends with that
    grants jsonb not null,                  -- roles by namespace, *: all of them
    method text not null check (method in ('openid', 'link')),
    address text,
    agent text,
    user_id bigint,                         -- the user of this machine whose connections it is good for; null: any
    created_at timestamptz not null default clock_timestamp(),
    used_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    ended_at timestamptz
);

create index sessions_credential on sexton.sessions (credential, id) where ended_at is null;
create index sessions_expires_at on sexton.sessions (expires_at);

create sequence sexton.job_ids cache 100;
create sequence sexton.run_ids cache 1000;
create sequence sexton.node_ids;

-- What to do, and when. `options` holds the policies that differ from their defaults (sexton.model.JobSpec).
create table sexton.jobs (
    id bigint primary key default nextval('sexton.job_ids'),
    namespace text not null default 'default',
    name text collate "C" not null,     -- so that the index on names also finds beginnings
    app text,
    status text not null default 'active' check (status in ('active', 'paused', 'completed', 'deleted')),
    revision integer not null default 1,
    kind text not null,
    schedule text not null,
    timezone text not null,
    anchor timestamptz,
    timing_key uuid not null,
    moved jsonb,                -- the occurrence that was moved: since, origin, to (sexton.schedules.move.Move)
    target jsonb not null,
    payload jsonb,
    options jsonb not null default '{}',
    labels jsonb,
    description text,
    owner text,
    paused_reason text,
    paused_until timestamptz,
    declaration text,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    completed_at timestamptz,
    deleted_at timestamptz,
    deleted_as jsonb            -- what it was when it was deleted: status, pause, how many have fired, what was open; null: it stays deleted
);

create unique index jobs_name on sexton.jobs (namespace, name) where status <> 'deleted';
create index jobs_namespace on sexton.jobs (namespace, id);
create index jobs_app on sexton.jobs (app) where app is not null;
create index jobs_status on sexton.jobs (status, id) where status <> 'active';
create index jobs_labels on sexton.jobs using gin (labels) where labels is not null;
-- By the name of the handler, without that of its application; '': it is not a handler.
create index jobs_handler on sexton.jobs ((regexp_replace(coalesce(target ->> 'handler', ''), '^[^:]*:', '')));
create index jobs_paused_until on sexton.jobs (paused_until) where paused_until is not null;
create index jobs_declared on sexton.jobs (app) where declaration is not null;
create index jobs_deleted on sexton.jobs (deleted_at) where status = 'deleted';
create index jobs_deleted_name on sexton.jobs (namespace, name, id) where status = 'deleted';

-- What a job is found by: the words of its name, its owner and its description, without an extension. A beginning of a word is
-- enough: `rep` finds `billing/send-report`.
create function sexton.words_of(name text, owner text, description text) returns tsvector
language sql immutable parallel safe
return to_tsvector(
    'pg_catalog.simple',
    regexp_replace(
        name || ' ' || coalesce(owner, '') || ' ' || coalesce(left(description, 500), ''), '[\s!-/:-@\[-`{-~]+', ' ', 'g'
    )
);

create index jobs_words on sexton.jobs using gin (sexton.words_of(name, owner, description));

-- What a change of the zone database concerns.
create index jobs_zone on sexton.jobs (timezone, id) where timezone <> 'UTC' and status in ('active', 'paused');

-- How long a one-off is kept after its completion. Its default stands here, since a statement finds an index only by the expression of
-- the index: with the default as a parameter, a generic plan reads all completed jobs.
create function sexton.kept_for(options jsonb) returns interval
language sql immutable parallel safe
return make_interval(secs => coalesce((options ->> 'keep_completed_seconds')::float8, 86400));

-- When a one-off may go.
create index jobs_completed on sexton.jobs (((completed_at at time zone 'UTC') + sexton.kept_for(options)))
    where status = 'completed' and kind = 'once';

-- What a job was before an edit: `definition` is the whole row as JSON.
create table sexton.job_revisions (
    job_id bigint not null,
    revision integer not null,
    definition jsonb not null,
    valid_until timestamptz not null default clock_timestamp(),
    primary key (job_id, revision)
);

-- The first unaccounted occurrence of every job that is neither completed nor deleted. due_at is scheduled_at
-- plus the job's own jitter; infinity while the job is paused. What firing needs of the job stands here too.
-- One row per job: who writes one has made the job, or has locked it. The key is that of firing, which knows job and due time.
-- With `job_id` alone, each firing looked at every dead version of the row, and while a transaction is open somewhere, none of
-- them goes: after 300 firings of 214 jobs a batch took 13 times as long.
create table sexton.timers (
    job_id bigint not null,
    shard smallint not null,
    revision integer not null,
    timing_key uuid not null,
    scheduled_at timestamptz not null,
    due_at timestamptz not null,
    fired_count integer not null default 0,
    max_runs integer,
    lane integer not null,
    priority smallint not null,
    overlap smallint not null default 0,
    expires_seconds integer,
    grace_seconds integer,      -- null: the default
    concurrency_key text collate "C",   -- set if the lane is keyed
    primary key (job_id, due_at)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

create index timers_due on sexton.timers (shard, due_at);

-- Jobs that are set aside because it cannot be worked out when they are due. Of another revision: it was mended.
create table sexton.problems (
    job_id bigint primary key,
    revision integer not null,
    problem text not null,
    since timestamptz not null default clock_timestamp()
);

-- A queue of a namespace together with what its runs need: a handler, or a kind of target and what of that kind (the broker
-- of a message, the program of a command). What a worker can claim by.
create table sexton.lanes (
    id integer generated always as identity primary key,
    namespace text collate "C" not null default 'default',
    queue text not null,
    target text not null,       -- handler, http, message, celery, shell
    handler text not null default '',
    keyed boolean not null default false,   -- its runs have a concurrency key, those of other lanes have none
    unique (namespace, queue, target, handler, keyed)
);

-- What people have said about a queue; one that is not here has no limits. A claim under limits locks the row,
-- so that two workers never count the same free place.
create table sexton.queues (
    id integer generated always as identity primary key,
    namespace text collate "C" not null default 'default',
    name text not null,
    paused_at timestamptz,
    paused_reason text,
    concurrency integer check (concurrency > 0),            -- runs of its namespace at a time, in the whole cluster
    key_concurrency integer check (key_concurrency > 0),    -- of each concurrency key
    rate float8 check (rate > 0),                           -- starts per second
    burst integer check (burst > 0),                        -- and at once; null: as many as in a second, at least one
    tokens float8 not null default 0,                       -- starts that were left at refilled_at
    refilled_at timestamptz not null default clock_timestamp(),
    key_place text collate "C" not null default '',         -- the key that was served last: the next ones come first
    updated_at timestamptz not null default clock_timestamp(),
    unique (namespace, name)
) with (fillfactor = 50);

-- Live runs only; a row leaves when the run ends. `slot` is set where runs of a job must not overlap:
-- 0 is the live one, 1 the queued one. Below 0 are missed ones that are caught up one after another, the lowest first;
-- they go before the queued one. All but the live one wait with available_at infinity, and not_before is when the rate of
-- catching up lets a missed one start.
create table sexton.runs (
    id bigint primary key default nextval('sexton.run_ids'),
    job_id bigint not null,
    state text not null default 'pending',   -- pending, running, failed, waiting
    lane integer not null,
    priority smallint not null,
    available_at timestamptz not null,
    scheduled_at timestamptz not null,
    due_at timestamptz not null,
    fired_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz,
    revision integer not null,
    trigger text not null default 'schedule',  -- schedule, catch_up, manual, backfill, redrive
    missed boolean not null default false,
    slot integer,
    not_before timestamptz,
    attempt smallint not null default 0,
    crashes smallint not null default 0,
    company smallint not null default 0,    -- 0: above suspicion; else how many such may run together, see recording/reap
    claim integer not null default 0,
    node bigint,
    claimed_at timestamptz,
    deadline_at timestamptz,
    cancel_requested_at timestamptz,
    cancel_reason text,
    concurrency_key text collate "C",
    limited_by integer,         -- the queue among whose runs it counts; null if that had no limits when it was claimed
    idempotency_key text,
    parent_run bigint,
    payload jsonb,
    error text,
    progress jsonb
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);

create index runs_claimable on sexton.runs (lane, priority, available_at) where state in ('pending', 'failed');
create index runs_job on sexton.runs (job_id, scheduled_at);
create unique index runs_slot on sexton.runs (job_id, slot) where slot is not null;

-- Few runs are in any of these: looking for them must not mean looking at all that wait.
create index runs_suspect on sexton.runs (lane) where company > 0;
create index runs_expiring on sexton.runs (expires_at) where expires_at is not null;
create index runs_cancelling on sexton.runs (node) where cancel_requested_at is not null;
create index runs_waiting on sexton.runs (deadline_at) where state = 'waiting';

-- What counts for the limits of a queue is what this index holds, and nothing else: a run leaves it in whatever way it
-- stops running. And what waits by key, so that a key with a million runs is stepped over at once.
create index runs_limited on sexton.runs (limited_by, concurrency_key)
    where limited_by is not null and state in ('running', 'waiting');
create index runs_keyed on sexton.runs (lane, priority, concurrency_key, available_at)
    where concurrency_key is not null and state in ('pending', 'failed');

-- One row per ended run and per skipped occurrence, or counted range of them. Append-only.
create table sexton.history (
    recorded_at timestamptz not null default clock_timestamp(),
    run_id bigint,              -- null: the occurrence was skipped
    job_id bigint not null,
    scheduled_at timestamptz not null,
    status text not null,       -- success, dead, cancelled, expired, skipped
    reason text,
    trigger text,
    missed boolean not null default false,
    revision integer,
    attempt smallint,
    claim integer,
    node bigint,
    fired_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz,
    until_at timestamptz,       -- the last occurrence of a counted range
    occurrences integer,        -- how many the range holds
    error text,
    result jsonb,
    idempotency_key text,
    parent_run bigint,
    payload jsonb
) partition by range (recorded_at);

create index history_job on sexton.history (job_id, recorded_at);
create index history_run on sexton.history using brin (recorded_at, run_id) with (pages_per_range = 16);
-- What people look for among millions that went well. A run of a schedule that succeeds has no entry here.
create index history_unusual on sexton.history (recorded_at)
    where status <> 'success' or trigger <> 'schedule';

-- How many runs ended and occurrences were skipped, by minute: what history holds, counted once by a scheduler some seconds
-- later, so that no page counts millions of rows. `late` is how late runs of a schedule started, in steps of a factor of the square
-- root of 2: 20 is one second (sexton.runs.activity); -1: not known.
create table sexton.activity (
    namespace text collate "C" not null,
    minute timestamptz not null,
    status text not null,
    late smallint not null,
    runs bigint not null,
    primary key (namespace, minute, status, late)
);

create index activity_minute on sexton.activity (minute);

-- How many runs of a queue were fired and have ended, by minute, of the last hours; counted together with `activity`, of runs that have
-- ended. Those that are live are counted by the reader (sexton.runs.throughput).
create table sexton.queue_activity (
    minute timestamptz not null,
    namespace text collate "C" not null,
    queue text collate "C" not null,
    fired bigint not null,
    ended bigint not null,
    primary key (minute, namespace, queue)
);

-- Up to when history is counted; one row.
create table sexton.activity_mark (
    single boolean primary key default true check (single),
    through timestamptz not null
);

-- Addresses where people's own calendars read what is planned. The secret in the address is not here, only its hash under the cluster's own key.
create table sexton.calendar_feeds (
    id bigint generated always as identity primary key,
    namespace text collate "C" not null,
    name text not null,
    kinds text[] not null,      -- jobs, content, campaigns
    label text,                 -- null: jobs with any labels
    timezone text not null,
    hash bytea not null unique,
    created_by text not null,
    created_at timestamptz not null,
    revoked_by text,
    revoked_at timestamptz
);

create index calendar_feeds_namespace on sexton.calendar_feeds (namespace, id);

-- Tries that failed. A first-try success has no row here.
create table sexton.attempts (
    recorded_at timestamptz not null default clock_timestamp(),
    run_id bigint not null,
    attempt smallint not null,
    node bigint,
    started_at timestamptz,
    finished_at timestamptz,
    outcome text not null,      -- failed, snoozed, crashed, timeout, …
    error text
) partition by range (recorded_at);

create index attempts_run on sexton.attempts (run_id);

create table sexton.run_logs (
    recorded_at timestamptz not null default clock_timestamp(),
    run_id bigint not null,
    attempt smallint not null,
    at timestamptz not null,
    level text not null default 'info',
    message text not null
) partition by range (recorded_at);

create index run_logs_run on sexton.run_logs (run_id);

-- Runs that could not be saved, with what it takes to dig them up again.
create table sexton.dead (
    run_id bigint primary key,
    job_id bigint not null,
    died_at timestamptz not null default clock_timestamp(),
    reason text not null,       -- exhausted, permanent, poison
    error text,
    error_group text not null,
    lane integer not null,
    priority smallint not null,
    scheduled_at timestamptz not null,
    due_at timestamptz not null,
    revision integer not null,
    trigger text not null,
    missed boolean not null,
    attempt smallint not null,
    idempotency_key text,
    parent_run bigint,
    payload jsonb,
    -- Taking it to its dead_letter_target: null once it is there, or if it has none.
    next_delivery_at timestamptz default '-infinity',
    delivered_at timestamptz,
    deliveries integer not null default 0,
    delivery_error text
);

create index dead_undelivered on sexton.dead (next_delivery_at) where next_delivery_at is not null;
create index dead_job on sexton.dead (job_id);
create index dead_died on sexton.dead (died_at, run_id);
create index dead_poison on sexton.dead (died_at) where reason = 'poison';

-- The fence: written only by takeover and hand-over, never deleted; epochs never go back.
create table sexton.shards (
    id smallint primary key,
    epoch bigint not null default 0,
    holder bigint,
    taken_at timestamptz
);

create table sexton.nodes (
    -- With a random part: after a failover that lost transactions, the sequence gives numbers again, and with them the runs
    -- of another process.
    id bigint primary key default (nextval('sexton.node_ids') << 16) | floor(random() * 65536)::bigint,
    name text not null,         -- host:pid:random
    roles text[] not null,
    app text,
    app_file text,              -- the file that made the application
    handlers text[] not null default '{}',
    targets text[] not null default '{}',   -- what a worker serves beside handlers: http, message:redis, …
    queues text[] not null default '{}',
    namespace text collate "C",             -- of the application
    namespaces text[] not null default '{*}',   -- whose runs a worker claims; *: those of all
    state text not null default 'live',   -- live, draining, dead
    lease_until timestamptz not null,
    heartbeat_at timestamptz not null default clock_timestamp(),
    started_at timestamptz not null default clock_timestamp(),
    capacity integer not null default 0,
    running integer not null default 0,
    -- Of a worker over HTTP: who may act for it, and in `begun` the runs that it holds.
    credential text,
    -- Of a worker whose process was seen to end: the runs whose handlers had begun, the latest last (null: not known), how it
    -- ended, and whether that was by its own code.
    begun bigint[],
    ended_by text,
    own_end boolean not null default false,
    version text not null,
    zone_version text,          -- of the zone database that a scheduler plans with
    backend_pids integer[] not null default '{}',
    detail jsonb not null default '{}'    -- how a scheduler is: elector, elector_ok, elector_error, skew_ms, wheel, fenced, fires, fired
) with (fillfactor = 50);

-- Answers to requests with an Idempotency-Key, written in the transaction of their effect.
create table sexton.requests (
    namespace text not null default 'default',
    key text not null,
    fingerprint text not null,
    status integer not null,
    headers jsonb not null,
    body text not null,
    created_at timestamptz not null default clock_timestamp(),
    primary key (namespace, key)
);

-- The clock changes of the zones in use, in the zone database that their jobs were planned with.
create table sexton.zones (
    name text primary key,
    version text not null,
    fingerprint text not null,
    changes jsonb not null,     -- [[instant, offset from then on], …]
    previous jsonb,             -- as they were before the last change
    previous_version text,
    through bigint,             -- while timers are moved: those of jobs up to here are done
    moved integer not null default 0,
    replanned_at timestamptz
);

-- What targets refer to by name, encrypted under a key that is not here.
create table sexton.secrets (
    namespace text collate "C" not null default 'default',
    name text not null,
    value bytea not null,       -- nonce and ciphertext of AES-GCM, with all but the times authenticated
    hosts text[] not null default '{}',     -- where it may be sent; empty: to any
    kinds text[] not null default '{}',     -- the kinds of target that may use it; empty: any
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    primary key (namespace, name)
);

-- Who changed what. A change writes its rows into audit_pending, in its own transaction and without waiting for others. A
-- scheduler moves what is committed into `audit`, in the order of a chain: each row has the hash of the one before. Rows of
-- `audit` are never updated, and go only from the oldest end.
create table sexton.audit_pending (
    at timestamptz not null default clock_timestamp(),
    id bigint generated always as identity,
    namespace text collate "C" not null,    -- *: what all of them share
    actor text not null,
    face text not null,         -- api, cli, console, python, sexton
    address text,               -- of the caller; of Sexton itself, the node
    request_id text,
    reason text,
    action text not null,       -- such as job.paused
    object_id text,
    object_name text,
    job_id bigint,              -- the job that was changed, or whose run
    jobs int8multirange,        -- instead, the jobs of a change of many
    before json,                -- json keeps the text, which the hash is made of
    after json,
    detail json,
    primary key (at, id)
);

create table sexton.audit (
    sequence bigint primary key,
    previous bytea not null,    -- the hash of the row before
    hash bytea not null,
    at timestamptz not null,
    id bigint not null,
    namespace text collate "C" not null,
    actor text not null,
    face text not null,
    address text,
    request_id text,
    reason text,
    action text not null,
    object_id text,
    object_name text,
    job_id bigint,
    jobs int8multirange,
    before json,
    after json,
    detail json
);

create index audit_at on sexton.audit (at, id);
create index audit_namespace on sexton.audit (namespace, at, id);
create index audit_job on sexton.audit (job_id, at, id) where job_id is not null;
create index audit_jobs on sexton.audit using gist (jobs) where jobs is not null;

-- All of them; those that wait have no place in the chain yet.
create view sexton.audit_entries as
select sequence, previous, hash, at, id, namespace, actor, face, address, request_id, reason, action, object_id, object_name,
       job_id, jobs, before, after, detail
from sexton.audit
union all
select null, null, null, at, id, namespace, actor, face, address, request_id, reason, action, object_id, object_name,
       job_id, jobs, before, after, detail
from sexton.audit_pending;

-- The end of the chain, and the last row that retention has removed: the chain begins behind it.
create table sexton.audit_head (
    sequence bigint not null,
    hash bytea not null,
    removed_sequence bigint not null,
    removed_hash bytea not null
);

insert into sexton.audit_head values (0, '', 0, '');
