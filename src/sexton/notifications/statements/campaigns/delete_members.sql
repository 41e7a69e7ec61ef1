-- Remove members of a list, some at a time.
with gone as (
    delete from sexton.audience_members
    where audience_id = :audience_id and namespace = :namespace
        and position <= (select min(member.position) + :limit - 1 from sexton.audience_members as member where member.audience_id = :audience_id)
    returning 1
)
select count(*) from gone
