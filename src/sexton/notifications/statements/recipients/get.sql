select
-- include: recipient_columns
from sexton.recipients
where namespace = :namespace and user_id = :user_id
