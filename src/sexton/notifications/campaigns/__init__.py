"""Campaigns: one message to very many recipients, in chunks of one ledger."""
