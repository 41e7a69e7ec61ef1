-- The answer that was given under an Idempotency-Key ($1), if it is not older than $2.
select fingerprint, status, headers::text, body
from sexton.requests
where namespace = 'default' and key = $1 and created_at > clock_timestamp() - $2::interval
