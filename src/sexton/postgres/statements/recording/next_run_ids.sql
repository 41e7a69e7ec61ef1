-- The ids of runs that are to be made: their keys may contain them.
select array_agg(nextval('sexton.run_ids')) from generate_series(1, :count::integer)
