-- Whether entries of any namespace wait to be sealed.
select exists (select from sexton.audit_pending)
