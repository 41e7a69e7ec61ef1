-- Make this process a node.
insert into sexton.nodes (
    name, roles, version, app, app_file, handlers, targets, queues, namespace, namespaces, capacity, state, detail, lease_until
)
values (
    :name, :roles, :version, :app, :app_file, :handlers, :targets, :queues, :namespace, :namespaces, :capacity, :state, :detail::jsonb,
    clock_timestamp() + :lease_seconds::float8 * interval '1 second'
)
returning id, clock_timestamp() as now
