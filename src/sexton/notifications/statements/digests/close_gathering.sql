-- The next event of a recipient and a key begins another message.
update sexton.digest_gatherings
set message_id = null, events = 0
where digest_id = :digest_id and namespace = :namespace and user_id = :user_id and key = :key
