-- Add members to a list that is being made.
insert into sexton.audience_members (audience_id, position, namespace, user_id, vars)
select :audience_id, :first::bigint + member.place - 1, :namespace, member.user_id, member.vars::jsonb
from unnest(:user_ids::text[], :vars::text[]) with ordinality as member (user_id, vars, place)
