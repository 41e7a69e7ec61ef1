-- Recipients of a namespace whose ids begin so.
select user_id
from sexton.recipients
where namespace = :namespace and user_id like :pattern
order by user_id
limit :limit
