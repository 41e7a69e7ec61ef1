"""Recurring notifications, digests and sequences."""
