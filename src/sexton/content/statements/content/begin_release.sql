update sexton.content_releases set begun_run = :run_id where id = :release_id and namespace = :namespace
