select value from sexton.secrets where name = $1
