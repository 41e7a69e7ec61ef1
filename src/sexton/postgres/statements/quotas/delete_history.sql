-- Delete the history of some jobs on a day, up to :limit rows, with the attempts and the log lines of their runs. Attempts and lines were
-- recorded after the first of these runs was made, and before the end of the day.
with picked as materialized (
    select ended.tableoid as part, ended.ctid as place, ended.run_id, ended.fired_at
    from sexton.history as ended
    where ended.job_id = any (:jobs::bigint[]) and ended.recorded_at >= :day_begins and ended.recorded_at < :day_ends
    limit :limit
),
attempted as (
    delete from sexton.attempts as attempt
    where attempt.run_id = any (array(select picked.run_id from picked))
        and attempt.recorded_at >= (select min(picked.fired_at) from picked) and attempt.recorded_at < :day_ends
),
logged as (
    delete from sexton.run_logs as line
    where line.run_id = any (array(select picked.run_id from picked))
        and line.recorded_at >= (select min(picked.fired_at) from picked) and line.recorded_at < :day_ends
),
gone as (
    delete from sexton.history as ended
    where ended.ctid = any (array(select picked.place from picked))
        and ended.recorded_at >= :day_begins and ended.recorded_at < :day_ends
        and exists (select from picked where picked.place = ended.ctid and picked.part = ended.tableoid)
    returning 1
)
select count(*) from gone
