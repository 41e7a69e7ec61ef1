-- Entities whose ids begin so, of one type or (null) of any; those that something was planned for, and those of `builtin`. Types are few: each
-- is found by a step in the index.
with recursive planned (entity_type) as (
    select min(entity_type) from sexton.content_schedules where namespace = :namespace
    union all
    select (
        select min(next.entity_type) from sexton.content_schedules as next
        where next.namespace = :namespace and next.entity_type > planned.entity_type
    )
    from planned where planned.entity_type is not null
),
kept (entity_type) as (
    select min(entity_type) from sexton.content_entities where namespace = :namespace
    union all
    select (
        select min(next.entity_type) from sexton.content_entities as next
        where next.namespace = :namespace and next.entity_type > kept.entity_type
    )
    from kept where kept.entity_type is not null
),
found as (
    select entity.entity_type, entity.entity_id
    from planned
    cross join lateral (
        select plan.entity_type, plan.entity_id
        from sexton.content_schedules as plan
        where plan.namespace = :namespace and plan.entity_type = planned.entity_type and plan.entity_id like :pattern
        order by plan.entity_id
        limit :limit
    ) as entity
    where :entity_type::text is null or planned.entity_type = :entity_type
    union
    select entity.entity_type, entity.entity_id
    from kept
    cross join lateral (
        select known.entity_type, known.entity_id
        from sexton.content_entities as known
        where known.namespace = :namespace and known.entity_type = kept.entity_type and known.entity_id like :pattern
        order by known.entity_id
        limit :limit
    ) as entity
    where :entity_type::text is null or kept.entity_type = :entity_type
)
select found.entity_type, found.entity_id, known.state
from found
left join sexton.content_entities as known
    on known.namespace = :namespace and known.entity_type = found.entity_type and known.entity_id = found.entity_id
order by length(found.entity_id), found.entity_type, found.entity_id
limit :limit
