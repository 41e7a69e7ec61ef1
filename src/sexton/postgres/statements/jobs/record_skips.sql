-- Record occurrences as skipped: :jobs with their :revisions, and for each :skipped, :until and :occurrences, which are null for a single
-- occurrence, and :reasons.
insert into sexton.history (job_id, revision, scheduled_at, until_at, occurrences, status, reason)
select skip.job_id, skip.revision, skip.scheduled_at, skip.until_at, skip.occurrences, 'skipped', skip.reason
from unnest(
    :jobs::bigint[], :revisions::integer[], :skipped::timestamptz[], :until::timestamptz[], :occurrences::integer[], :reasons::text[]
) as skip (job_id, revision, scheduled_at, until_at, occurrences, reason)
