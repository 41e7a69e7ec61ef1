"""Releases: actions that are carried out together."""
