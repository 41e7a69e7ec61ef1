-- Expects `member` (position, user_id, vars); gives `slice` and `one`: these members with what is known of them, and those who are recipients.
slice as materialized (
    select member.position as place, member.user_id as wanted, member.vars as member_vars, recipient.*
    from member
    left join sexton.recipients as recipient on recipient.namespace = :namespace and recipient.user_id = member.user_id
),
one as (
    select slice.*
    from slice
    where slice.number is not null
),
