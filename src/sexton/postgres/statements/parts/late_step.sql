-- How late a run of a schedule started, as a step: 20 is one second, each step is a factor of the square root of 2; -1 if unknown.
-- Expects sexton.history as h and sexton.jobs as job before it.
    cross join lateral (
        select case
            when h.trigger is distinct from 'schedule' or h.missed or coalesce(h.attempt, 0) < 1 then -1
            when h.fired_at is null or h.started_at is null then -1
            else greatest(0, least(60, 20 + floor(2 * ln(greatest(0.0001, extract(epoch from
                case when h.attempt > 1 then h.fired_at else h.started_at end
                - case when job.options ? 'jitter_seconds' then h.fired_at else h.scheduled_at end
            )::float8)) / ln(2::float8))))
        end::smallint as step
    ) as late
