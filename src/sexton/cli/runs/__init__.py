"""`sexton runs`, `dead` and `why`."""
