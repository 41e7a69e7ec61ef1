select
-- include: recipient_columns
from sexton.recipients
where namespace = :namespace and user_id > :place and user_id >= :first and user_id < :last
order by user_id
limit :limit
