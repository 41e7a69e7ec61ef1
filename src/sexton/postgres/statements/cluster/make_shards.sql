insert into sexton.shards (id) select generate_series(0, :shards::int - 1) on conflict do nothing
