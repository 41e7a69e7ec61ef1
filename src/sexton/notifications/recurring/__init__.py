"""Messages that come again: recurring notifications, digests, sequences."""
