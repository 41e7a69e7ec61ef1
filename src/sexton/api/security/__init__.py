"""Which requests the API answers, and for whom: keys, sessions, signing in, limits, secrets, the audit."""
