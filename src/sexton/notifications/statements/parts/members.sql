-- Gives `member`: the next members of a list, in their order.
member as (
    select member.position, member.user_id, member.vars
    from sexton.audience_members as member
    where member.audience_id = :audience_id and member.namespace = :namespace and member.position > :after
    order by member.position
    limit :limit
),
