-- How much a namespace uses: its jobs and its live runs, each counted up to :most, and how long a firing waits for the rate.
select
    (
        select count(*)
        from (
            select from sexton.jobs as job where job.namespace = :namespace and job.status <> 'deleted' limit :most
        ) as there
    ) as jobs,
    (
        select count(*)
        from (
            select from sexton.runs as run
            where run.lane in (select lane.id from sexton.lanes as lane where lane.namespace = :namespace)
            limit :most
        ) as there
    ) as live_runs,
    coalesce((
        select greatest(0, extract(epoch from meter.free_at - coalesce(:now::timestamptz, clock_timestamp()))
            - greatest(1, 1 / space.firings_per_second))::float8
        from sexton.meters as meter
        join sexton.namespaces as space on space.name = meter.namespace
        where meter.namespace = :namespace and meter.kind = 'runs' and isfinite(meter.free_at)
    ), 0) as firings_wait_seconds
