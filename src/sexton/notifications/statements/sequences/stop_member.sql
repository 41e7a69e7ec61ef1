-- End a sequence for a recipient.
update sexton.sequence_members
set stopped_at = coalesce(:now::timestamptz, clock_timestamp()), stopped_by = :stopped_by
where namespace = :namespace and sequence_id = :sequence_id and user_id = :user_id and entered = :entered
