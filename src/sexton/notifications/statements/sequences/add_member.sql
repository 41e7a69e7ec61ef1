-- Add a recipient to a sequence.
insert into sexton.sequence_members (sequence_id, user_id, entered, namespace, entered_at, revision, message_ids)
values (
    :sequence_id, :user_id, :entered, :namespace, coalesce(:now::timestamptz, clock_timestamp()), :revision, :message_ids
)
