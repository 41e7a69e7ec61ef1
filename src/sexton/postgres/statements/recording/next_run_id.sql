-- The id of a run that is to be made: its key may contain it.
select nextval('sexton.run_ids')
