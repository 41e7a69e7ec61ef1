-- How many runs a namespace may make per second; null: any number.
select firings_per_second from sexton.namespaces where name = :namespace
