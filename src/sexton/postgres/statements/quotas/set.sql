-- Set the quotas of a namespace. A meter exists as long as its quota, and begins with a count. Processes that serve the API read the
-- namespaces again; schedulers read all timers again, because the quota decides how a job is fired.
with changed as (
    update sexton.namespaces
    set description = :description, jobs = :jobs, live_runs = :live_runs, firings_per_second = :firings_per_second,
        payload_bytes = :payload_bytes, history_days = :history_days, campaign_sends_per_day = :campaign_sends_per_day
    where name = :namespace
    returning name
),
wanted as materialized (
    select 'jobs' as kind where :jobs::bigint is not null
    union all
    select 'runs' where :live_runs::bigint is not null or :firings_per_second::float8 is not null
),
removed as (
    delete from sexton.meters
    where namespace = :namespace and kind not in (select wanted.kind from wanted)
    returning kind
),
made as (
    insert into sexton.meters as meter (namespace, kind)
    select changed.name, wanted.kind from changed cross join wanted
    on conflict (namespace, kind) do update set counted_at = '-infinity', free_at = '-infinity'
    returning meter.kind
)
select changed.name,
    (select count(pg_notify('sexton_timers', '')) from (
        select made.kind from made union select removed.kind from removed
    ) as meter where meter.kind = 'runs') as told
from changed
