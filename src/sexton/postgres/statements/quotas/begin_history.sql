-- Note that the history of a namespace begins on this day: earlier rows are deleted.
update sexton.namespaces set history_begins = :day where name = :namespace
