-- When the next message of a namespace is due that no run has; if asked for, also how many are due now.
select (
        select min(due_at) from sexton.message_timers where namespace = :namespace and run_id is null
    ) as due_at,
    (
        select count(*)
        from (
            select 1 from sexton.message_timers
            where namespace = :namespace and run_id is null and due_at <= clock_timestamp()
            limit :most
        ) as due
    ) as due,
    clock_timestamp() as now
