-- Begin a list. It is not the one that its name means until it is whole.
insert into sexton.audiences (id, namespace, name, uploaded_by, uploaded_at)
values (:audience_id, :namespace, :name, :actor, coalesce(:now::timestamptz, clock_timestamp()))
