-- About how many timers there are, as PostgreSQL last counted them.
select greatest(0, reltuples)::bigint from pg_class where oid = 'sexton.timers'::regclass
