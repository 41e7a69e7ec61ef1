-- What `sexton doctor` shows of the server.
select clock_timestamp() as now, current_setting('server_version') as version,
    pg_size_pretty(pg_database_size(current_database())) as size,
    current_setting('max_connections')::int as max_connections,
    (select count(*) from pg_stat_activity where backend_type = 'client backend') as connections,
    current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,
    current_setting('synchronous_commit') as synchronous_commit, current_setting('autovacuum') as autovacuum,
    pg_is_in_recovery() as in_recovery
