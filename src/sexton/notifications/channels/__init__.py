"""Providers that deliver notifications, all with the contract in `base`."""
