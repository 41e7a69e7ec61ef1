-- Jobs of a namespace in a status, for counting; :most may be null.
select id from sexton.jobs where namespace = :namespace and status = :status limit :most
