-- Lock the actions that these runs carry out. The job of a run must be that of the action: a payload alone proves nothing.
select plan.*
from unnest(:schedules::bigint[], :jobs::bigint[]) as wanted (id, job_id)
join sexton.content_schedules as plan on plan.id = wanted.id and plan.job_id = wanted.job_id and plan.release_id is null
order by plan.id
for update of plan
