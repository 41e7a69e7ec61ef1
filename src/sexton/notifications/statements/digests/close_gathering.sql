-- Close a digest message: the next event of its recipient and key begins another one.
update sexton.digest_gatherings
set message_id = null, events = 0
where digest_id = :digest_id and namespace = :namespace and user_id = :user_id and key = :key
