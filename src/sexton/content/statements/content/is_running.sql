select true from sexton.runs where id = :run_id and state in ('running', 'waiting')
