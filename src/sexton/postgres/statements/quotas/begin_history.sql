-- The history of a namespace begins on this day: what was recorded before is deleted.
update sexton.namespaces set history_begins = :day where name = :namespace
