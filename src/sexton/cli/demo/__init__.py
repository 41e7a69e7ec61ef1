"""`sexton demo`: everything on this machine with example data, in a data directory of its own."""
