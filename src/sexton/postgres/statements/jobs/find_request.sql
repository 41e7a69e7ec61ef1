-- The answer that was given under an Idempotency-Key, if it is not older than `kept`.
select fingerprint, status, headers::text, body
from sexton.requests
where namespace = :namespace and key = :key and created_at > clock_timestamp() - :kept::interval
