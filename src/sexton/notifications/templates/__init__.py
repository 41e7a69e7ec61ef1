"""Templates: the texts of messages, and their rendering with limits."""
