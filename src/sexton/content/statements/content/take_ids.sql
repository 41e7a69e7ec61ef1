select array_agg(nextval('sexton.content_ids')) from generate_series(1, :count::integer)
