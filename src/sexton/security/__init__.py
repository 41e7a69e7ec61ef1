"""Who may do what, and what must stay secret."""
