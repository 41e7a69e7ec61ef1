select count(*) from sexton.dead
