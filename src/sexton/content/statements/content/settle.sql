-- Actions are done up to these occurrences; changes of entities are recorded in the order of :schedules.
with wanted as (
    select * from unnest(
        :schedules::bigint[], :at::timestamptz[], :runs::bigint[], :changed::boolean[], :states_before::text[],
        :states_after::text[], :versions::integer[]
    ) with ordinality as each (id, at, run_id, changed, state_before, state_after, version, place)
),
done as (
    update sexton.content_schedules as plan
    set done_at = greatest(plan.done_at, wanted.at), begun_at = wanted.at, begun_run = wanted.run_id
    from wanted
    where plan.id = wanted.id
)
insert into sexton.content_changes (
    namespace, entity_type, entity_id, at, action, state_before, state_after, version, schedule_id, release_id, run_id,
    actor
)
select plan.namespace, plan.entity_type, plan.entity_id, clock_timestamp(), plan.action, wanted.state_before,
       wanted.state_after, wanted.version, plan.id, plan.release_id, wanted.run_id, plan.created_by
from wanted
join sexton.content_schedules as plan on plan.id = wanted.id
where wanted.changed
order by wanted.place
