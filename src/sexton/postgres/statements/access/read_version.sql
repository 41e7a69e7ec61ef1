-- What changes with every change of namespaces and keys.
select version from sexton.access_version
