select * from sexton.content_feeds
where namespace = :namespace and id > :after
order by id
limit :limit
