"""Adapters: one for each system that stores entities, all with the contract in `base`."""
