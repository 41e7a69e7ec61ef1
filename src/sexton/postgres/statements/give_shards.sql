-- Hand shards over: free at once, the epoch stays until somebody takes them. $1 shards, $2 node
update sexton.shards set holder = null where id = any($1::smallint[]) and holder = $2
