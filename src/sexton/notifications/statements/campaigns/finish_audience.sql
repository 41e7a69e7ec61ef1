-- Mark a list as complete: from now on its name refers to it, and no longer to the list before.
with before as (
    update sexton.audiences set current = false where namespace = :namespace and name = :name and current
    returning id
)
update sexton.audiences
set size = :size, current = true
where namespace = :namespace and id = :audience_id and (select count(*) from before) >= 0
