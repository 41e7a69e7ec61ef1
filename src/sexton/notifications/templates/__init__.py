"""Templates: the texts of messages, rendered within limits."""
