-- Up to when history is counted; null: none of it is.
select through from sexton.activity_mark
