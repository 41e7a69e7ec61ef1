-- Whether a run that must be run alone waits in the lanes $1.
select exists (
    select from sexton.runs as run
    where run.crashes >= 2
        and run.lane = any ($1::integer[])
        and run.state in ('pending', 'failed')
        and run.available_at <= coalesce($2::timestamptz, statement_timestamp())
)
