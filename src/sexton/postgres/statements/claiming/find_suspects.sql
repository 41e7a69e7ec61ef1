-- Which of these lanes have waiting runs that may end the process of their worker; and the jobs whose other runs are
-- suspects, too. A run that must run alone makes its job such a job: a live run while it lives, a dead one for an hour.
select
    array(
        select distinct run.lane
        from sexton.runs as run
        where run.company > 0
            and run.lane = any (:lanes::integer[])
            and run.state in ('pending', 'failed')
            and run.available_at <= coalesce(:now::timestamptz, statement_timestamp())
    ) as lanes,
    array(
        select run.job_id from sexton.runs as run where run.company > 0 and run.company = 1 and run.crashes > 0
        union
        select poison.job_id
        from (
            select dead.job_id
            from sexton.dead as dead
            where dead.reason = 'poison'
                and dead.died_at > coalesce(:now::timestamptz, statement_timestamp()) - interval '1 hour'
            order by dead.died_at desc
            limit 1000
        ) as poison
    ) as jobs
