-- Ids for runs that a test engine carries out before it writes them.
select nextval('sexton.run_ids') as id from generate_series(1, :count::integer)
