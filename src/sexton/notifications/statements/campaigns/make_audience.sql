-- Begin a list. Its name does not refer to it until it is complete.
insert into sexton.audiences (id, namespace, name, uploaded_by, uploaded_at)
values (:audience_id, :namespace, :name, :actor, coalesce(:now::timestamptz, clock_timestamp()))
