select * from sexton.calendar_feeds
where namespace = :namespace and id > :after
order by id
limit :limit
