-- Which of the sweeper's statements would find something: declare_dead (`lapsed`), reap (`fallen`) and overdue. $1 now
with moment as materialized (select coalesce($1::timestamptz, clock_timestamp()) as now)
select
    exists (
        select from sexton.nodes
        where state <> 'dead' and lease_until < (select now from moment) and 'worker' = any (roles)
    ) as lapsed,
    exists (select from sexton.nodes where state = 'dead' and running > 0) as fallen,
    exists (select from sexton.runs where state = 'waiting' and deadline_at <= (select now from moment))
        or exists (select from sexton.runs where cancel_requested_at is not null and state = 'waiting') as overdue
