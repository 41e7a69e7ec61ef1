-- A process that has locked runs and is stopped before its transaction ends does not keep them for long: workers that
-- record the outcomes of many runs together would wait. Expects another common table expression after it, which reads from it.
patience as materialized (select set_config('idle_in_transaction_session_timeout', '5s', true)),
