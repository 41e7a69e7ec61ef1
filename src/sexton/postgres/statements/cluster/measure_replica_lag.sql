-- The lag of this replica in seconds; null if it is no replica. `written` is how far the primary had written, if known.
select case
    when not pg_is_in_recovery() then null
    when pg_last_wal_replay_lsn() >= :written::text::pg_lsn then 0
    else greatest(0, extract(epoch from clock_timestamp() - coalesce(pg_last_xact_replay_timestamp(), 'epoch')))
end::float8
