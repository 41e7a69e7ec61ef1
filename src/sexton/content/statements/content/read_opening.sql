-- What opens a window, for the occurrence that a closing is of: whether it was done, or still may be.
select opening.cancelled_at, opening.done_at, coalesce(:opened_at::timestamptz, opening.scheduled_at) as opened_at,
       exists (
           select from sexton.runs as run
           where run.job_id = opening.job_id
               and run.scheduled_at = coalesce(:opened_at::timestamptz, opening.scheduled_at)
       ) or exists (
           select from sexton.timers as timer
           where timer.job_id = opening.job_id
               and timer.scheduled_at = coalesce(:opened_at::timestamptz, opening.scheduled_at)
               and timer.due_at <= clock_timestamp()
       ) as live
from sexton.content_schedules as opening
where opening.id = :window_id
