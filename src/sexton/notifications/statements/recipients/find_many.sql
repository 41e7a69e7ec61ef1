select user_id, timezone, locale, fields::text
from sexton.recipients
where namespace = :namespace and user_id = any (:user_ids::text[])
