-- Look at the next slice of a campaign's audience without writing it: the results of a query, in its order. Those who are not recipients are only counted.
with member as (
    select member.position, member.user_id, member.vars::jsonb as vars
    from unnest(:user_ids::text[], :vars::text[]) with ordinality as member (user_id, vars, position)
    where member.position > :after
    order by member.position
    limit :limit
),
-- include: listed
-- include: picked
-- include: check
    (select count(*) from slice where slice.number is null) as unknown
from counted
