-- An author is notified once of an occurrence that was not carried out. Returns those of which no notice was sent before.
update sexton.content_schedules as plan
set told_at = wanted.at
from unnest(:schedules::bigint[], :at::timestamptz[]) as wanted (id, at)
where plan.id = wanted.id and plan.told_at is distinct from wanted.at
returning plan.id
