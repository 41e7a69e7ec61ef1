-- Limit how long a process that is stopped inside its transaction keeps its locks on runs: workers that record the outcomes
-- of many runs together would wait for them. Expects another common table expression after it, which reads from it.
patience as materialized (select set_config('idle_in_transaction_session_timeout', '5s', true)),
