-- Record the rules of a zone in the zone database that jobs are planned with now. If they differ, the earlier rules are kept, too.
insert into sexton.zones as known (name, version, fingerprint, changes)
values (:name, :version, :fingerprint, :changes)
on conflict (name) do update
set version = excluded.version, fingerprint = excluded.fingerprint, changes = excluded.changes,
    previous = case when known.fingerprint = excluded.fingerprint then known.previous else known.changes end,
    previous_version = case when known.fingerprint = excluded.fingerprint then known.previous_version else known.version end,
    replanned_at = case when known.fingerprint = excluded.fingerprint then known.replanned_at
                        else coalesce(:now::timestamptz, clock_timestamp()) end,
    through = null
where known.version < excluded.version
