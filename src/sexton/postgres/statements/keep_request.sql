-- Keep an answer under its Idempotency-Key, in the transaction of its effect. One that is past its day is replaced.
insert into sexton.requests (key, fingerprint, status, headers, body)
values ($1, $2, $3, $4::jsonb, $5)
on conflict (namespace, key) do update
set fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers, body = excluded.body,
    created_at = clock_timestamp()
