-- Keep an answer under its Idempotency-Key, in the transaction of its effect. An answer that is older than a day is replaced.
insert into sexton.requests (namespace, key, fingerprint, status, headers, body)
values (:namespace, :key, :fingerprint, :status, :headers::jsonb, :body)
on conflict (namespace, key) do update
set fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers, body = excluded.body,
    created_at = clock_timestamp()
