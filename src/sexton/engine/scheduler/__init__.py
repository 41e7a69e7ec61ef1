"""Fires what is due."""
