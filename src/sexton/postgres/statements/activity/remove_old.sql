-- Delete what was counted longer ago than it is kept.
delete from sexton.activity where minute < coalesce(:now::timestamptz, clock_timestamp()) - make_interval(days => :keep_days::int)
