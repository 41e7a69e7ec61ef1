update sexton.nodes set zone_version = :version where name = :node returning id
