-- Whether a run that must be run alone waits in these lanes.
select exists (
    select from sexton.runs as run
    where run.crashes >= 2
        and run.lane = any (:lanes::integer[])
        and run.state in ('pending', 'failed')
        and run.available_at <= coalesce(:now::timestamptz, statement_timestamp())
)
