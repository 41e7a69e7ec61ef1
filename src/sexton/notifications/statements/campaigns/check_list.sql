-- Look at the next slice of a campaign's audience without writing it: members of a list, in their order. Members who are not recipients are only counted.
with member as (
    select member.position, member.user_id, member.vars
    from sexton.audience_members as member
    where member.audience_id = :audience_id and member.namespace = :namespace and member.position > :after
    order by member.position
    limit :limit
),
-- include: listed
-- include: picked
-- include: check
    (select count(*) from slice where slice.number is null) as unknown
from counted
