-- What a zone is like, if that is not recorded yet. $1 name, $2 version of the zone database, $3 fingerprint, $4 changes
insert into sexton.zones (name, version, fingerprint, changes) values ($1, $2, $3, $4) on conflict (name) do nothing
