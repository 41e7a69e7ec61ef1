-- The zones of the jobs that will fire, one step through the index for each, and their recorded rules; also zones that were
-- used before, because new jobs are planned with the recorded rules. UTC has no clock changes. :recent: how long a change of a
-- zone counts as recent.
with recursive used (name) as (
    (
        select timezone from sexton.jobs
        where timezone <> 'UTC' and status in ('active', 'paused')
        order by timezone
        limit 1
    )
    union all
    select (
        select timezone from sexton.jobs
        where timezone <> 'UTC' and status in ('active', 'paused') and timezone > used.name
        order by timezone
        limit 1
    )
    from used
    where used.name is not null
)
select names.name, names.name in (select name from used) as used, zones.version, zones.fingerprint, zones.changes,
       zones.previous, zones.previous_version, zones.through,
       zones.previous is not null
           and zones.replanned_at > coalesce(:now::timestamptz, clock_timestamp()) - :recent::interval as recent
from (select name from used where name is not null union select name from sexton.zones) as names
left join sexton.zones on zones.name = names.name
