"""`sexton jobs`, `queues` and `targets`."""
