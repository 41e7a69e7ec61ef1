-- The end of the chain; no row if another process is extending it.
select sequence, encode(hash, 'hex') as hash from sexton.audit_head for update skip locked
