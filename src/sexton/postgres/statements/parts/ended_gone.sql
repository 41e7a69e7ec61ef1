-- Picked runs that have expired, or were cancelled while they waited, end instead of being claimed.
-- Expects picked with place (a ctid) and gone. Another common table expression follows.
ended as (
    delete from sexton.runs as run
    using picked
    where run.ctid = picked.place and picked.gone
    returning run.*
),
