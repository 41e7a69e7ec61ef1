-- The secrets of all namespaces.
select namespace, name, value, hosts, kinds from sexton.secrets order by namespace, name for update
