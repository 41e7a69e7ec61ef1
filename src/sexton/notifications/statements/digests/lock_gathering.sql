-- Lock the open digest message of a recipient and a key until the transaction ends.
insert into sexton.digest_gatherings as gathering (digest_id, user_id, key, namespace)
values (:digest_id, :user_id, :key, :namespace)
on conflict (digest_id, user_id, key) do update set events = gathering.events
returning gathering.message_id, gathering.events
