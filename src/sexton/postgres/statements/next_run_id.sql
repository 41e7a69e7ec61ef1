-- A run's id before the run: its key may name it.
select nextval('sexton.run_ids')
