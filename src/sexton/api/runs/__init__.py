"""Runs and dead letters over HTTP."""
