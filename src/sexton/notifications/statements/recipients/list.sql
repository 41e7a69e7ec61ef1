select user_id, email, phone, devices::text, addresses::text, timezone, locale, quiet_hours::text, opt_outs::text,
       caps::text, fields::text, created_at, updated_at
from sexton.recipients
where namespace = :namespace and user_id > :place and user_id >= :first and user_id < :last
order by user_id
limit :limit
