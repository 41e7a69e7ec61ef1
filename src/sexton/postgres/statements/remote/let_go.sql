-- Workers over HTTP no longer hold these runs.
update sexton.nodes as node
set begun = array(select held.id from unnest(node.begun) with ordinality as held (id, place)
    where held.id <> all (:runs::bigint[]) order by held.place)
where node.id = any (:nodes::bigint[]) and node.credential is not null and node.begun && :runs::bigint[]
