-- Of the given zones, those that are not recorded, always in the same order. UTC has no clock changes.
select distinct wanted.name collate "C" as name
from unnest(:names::text[]) as wanted (name)
where wanted.name <> 'UTC' and not exists (select from sexton.zones as known where known.name = wanted.name)
order by 1
