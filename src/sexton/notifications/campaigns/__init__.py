"""Campaigns: one message to very many recipients, sent in chunks."""
