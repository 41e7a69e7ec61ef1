-- Write the next slice of a campaign's audience: members of a list, in their order. Who is no recipient is only counted.
with slice as materialized (
    select member.position, member.user_id as wanted, member.vars as member_vars, recipient.*
    from (
        select member.position, member.user_id, member.vars
        from sexton.audience_members as member
        where member.audience_id = :audience_id and member.namespace = :namespace and member.position > :after
        order by member.position
        limit :limit
    ) as member
    left join sexton.recipients as recipient on recipient.namespace = :namespace and recipient.user_id = member.user_id
),
one as (
    select slice.*
    from slice
    where slice.number is not null
),
suppressing as materialized (
    select exists (select from sexton.suppressions where namespace = :namespace) as any
),
picked as materialized (
    select one.position as place, one.user_id,
-- include: audience_columns
    from one
),
-- include: expand
    (select max(slice.position) from slice) as reached,
    (select count(*) from slice) as looked_at,
    (select count(*) from slice where slice.number is null) as unknown
