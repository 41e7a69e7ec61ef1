update sexton.content_releases set told_at = :at
where id = :release_id and namespace = :namespace and told_at is distinct from :at
returning id
