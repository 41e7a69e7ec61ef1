-- The version of namespaces and keys: every change of them changes it.
select version from sexton.access_version
