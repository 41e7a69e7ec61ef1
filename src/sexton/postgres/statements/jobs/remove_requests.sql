-- Answers to requests with an Idempotency-Key are kept for a day.
delete from sexton.requests as request
where request.created_at < coalesce(:now::timestamptz, clock_timestamp()) - interval '24 hours'
