-- Reserve the ids of new runs: their keys may contain them.
select array_agg(nextval('sexton.run_ids')) from generate_series(1, :count::integer)
