-- Up to when history is counted; null: nothing is.
select through from sexton.activity_mark
