select nextval('sexton.content_ids')
