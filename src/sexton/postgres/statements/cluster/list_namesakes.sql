-- The live workers of an application of a namespace that were started from another file.
select node.name, node.app_file
from sexton.nodes as node
where node.app = :app and node.namespace = :namespace and node.app_file <> :file
    and node.state <> 'dead' and node.lease_until > clock_timestamp()
order by node.id
