-- Mark messages as read or archived, or remove the mark. Without ids: all that are not archived.
update sexton.inbox
set read_at = case when :read::boolean then coalesce(read_at, :now::timestamptz, clock_timestamp()) when :read is null then read_at end,
    archived_at = case when :archived::boolean then coalesce(archived_at, :now::timestamptz, clock_timestamp())
        when :archived is null then archived_at end
where namespace = :namespace and user_id = :user_id
    and (case when :ids::bigint[] is null then archived_at is null else id = any (:ids::bigint[]) end)
returning id, message_id, parts, topic, created_at, read_at, archived_at
