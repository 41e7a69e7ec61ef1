-- Delete counts that are past their time.
delete from sexton.activity where minute < coalesce(:now::timestamptz, clock_timestamp()) - make_interval(days => :keep_days::int)
