-- Up to when history is counted, and up to when it may be. Rows that an open transaction has written have times after it began, so
-- the count stops there; it does not wait for a transaction that is open for longer than :patience_seconds. A cluster that has counted
-- nothing yet begins with the last day.
insert into sexton.activity_mark as mark (through)
values (date_trunc('minute', coalesce(:now::timestamptz, clock_timestamp()) - interval '25 hours'))
on conflict (single) do update set through = mark.through
returning mark.through,
    least(
        coalesce(:now, clock_timestamp()) - interval '1 second',
        greatest(
            coalesce(:now, clock_timestamp()) - make_interval(secs => :patience_seconds::float8),
            coalesce(
                (select min(other.xact_start) from pg_stat_activity as other
                 where other.backend_xid is not null and other.pid <> pg_backend_pid() and other.datname = current_database()),
                'infinity'
            )
        )
    ) as safe_until
