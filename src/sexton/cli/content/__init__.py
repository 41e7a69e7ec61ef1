"""`sexton content`."""
