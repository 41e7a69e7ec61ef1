-- Record a zone as it is in a version of the zone database, unless it is recorded.
insert into sexton.zones (name, version, fingerprint, changes)
values (:name, :version, :fingerprint, :changes)
on conflict (name) do nothing
