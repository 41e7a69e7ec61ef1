-- Make a worker over HTTP a node, unless its namespace has too many. Only callers with :credential may act for it.
-- `begun` are the runs that it holds: empty, and not null, from the start.
insert into sexton.nodes (name, roles, version, handlers, queues, namespaces, capacity, credential, begun, detail, lease_until)
select :name, '{worker}', :version, :handlers::text[], :queues::text[], array[:namespace::text], :capacity::integer, :credential, '{}',
    jsonb_build_object('lease_seconds', :lease_seconds::float8),
    clock_timestamp() + :lease_seconds::float8 * interval '1 second'
where :most::integer > (
    select count(*) from sexton.nodes as node
    where node.credential is not null and node.namespaces = array[:namespace::text] and node.state <> 'dead'
)
returning id
